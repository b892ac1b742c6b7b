"""Sets Atlas beside its peers, each in a process of its own, in one run.

    python3 tools/compare --smoke                          2,000 passages, a minute
    python3 tools/compare                                  10,000 and 100,000 passages, all parts
    python3 tools/compare --sizes 1000000 --fetch-texts    the few that are compared at a million
    python3 tools/compare --record 2026-12-01              and keeps the result in benches/records/
    python3 tools/compare --table                          the newest record as README.md's table
    python3 tools/compare --growth                         how Atlas's costs grow with the collection

It makes its own environment below the cache (`target/compare` unless --cache says otherwise), where data
and indexes are kept between runs. What is measured, and how: benches/README.md.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TEXTS = [
    "erlang-doc", "libboost1.74-doc", "linux-doc-6.1", "openjdk-17-doc", "postgresql-doc-15", "python3.11-doc", "qtbase5-doc-html",
]
PARTS = ["dense", "lexical", "hybrid", "scoped", "build", "open"]


def options():
    parser = argparse.ArgumentParser(prog="tools/compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--sizes", default="10000,100000", help="numbers of passages (default 10000,100000)")
    add("--parts", default=",".join(PARTS), help="of dense,lexical,hybrid,scoped,build,open (default all)")
    add("--systems", help="only these peers, by name, separated by semicolons (default all)")
    add("--rounds", type=int, default=5, help="paired runs (default 5)")
    add("--cache", type=Path, default=ROOT / "target/compare", help="folder of data, indexes and environments")
    add("--corpus", type=Path, default=ROOT / "../shared/data/aws-docs-full", help="the set in BEIR layout")
    add("--more", default="", help="folders of other documents for more passages than the set has, by comma (default: what --fetch-texts fetched)")
    add("--fetch-texts", action="store_true", help="fetch those documents: Debian packages of documentation, and rustup's")
    add("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core that all systems are pinned to")
    add("--binary", type=Path, help="the built example `compare` (default: it is built)")
    add("--record", metavar="DATE", help="keep the result as benches/records/DATE-compare.json")
    add("--join", action="store_true", help="with --record: keep rows of sizes and parts that this run leaves out")
    add("--rebuild", action="store_true", help="build the peers' indexes again")
    add("--prepare", action="store_true", help="make data and indexes, and measure nothing else")
    add("--with-txtai", action="store_true", help="make txtai's environment too (5 GB)")
    add("--smoke", action="store_true", help="2,000 passages, two rounds, whatever peers work")
    add("--table", action="store_true", help="write the newest record's table into README.md and benches/README.md")
    add("--growth", action="store_true", help="measure Atlas at --sizes (default 1000,10000,100000) and fit exponents")
    return parser.parse_args()


def environment(folder, requirements):
    """A virtual environment with exactly `requirements`; its Python."""
    python, stamp = folder / "bin/python", folder / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"making the environment of {requirements.name} in {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)
    stamp.write_text(wanted)
    return python


def fetch_texts(folder):
    """Documentation that anyone can have: what `apt-get download` gives, and the Rust toolchain's own."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in TEXTS:
        if not (folder / package).is_dir():
            subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
            archive = next(folder.glob(f"{package}_*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, folder / package], check=True)
            archive.unlink()
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    link = folder / "rust-docs"
    if not link.is_symlink():
        link.symlink_to(Path(sysroot) / "share/doc/rust/html")


def main():
    chosen = options()
    if chosen.table:
        import table

        return table.refresh(ROOT)
    python = environment(chosen.cache / "venv", HERE / "requirements.txt")
    if chosen.with_txtai:
        environment(chosen.cache / "venv-txtai", HERE / "requirements-txtai.txt")
    if chosen.fetch_texts:
        fetch_texts(chosen.cache / "text")
    if Path(sys.prefix).resolve() != (chosen.cache / "venv").resolve():
        os.execv(python, [str(python), str(HERE), *sys.argv[1:]])
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if chosen.growth:
        import growth

        return growth.run(chosen, ROOT)
    import compare

    return compare.run(chosen, ROOT)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(HERE))
    sys.exit(main())
