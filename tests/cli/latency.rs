//! `latency`: searches timed, targets, logs, and which stage moved.

use super::json::demand;
use super::session::{Session, session};

/// One line of a usage log, `at` seconds after some moment, with a generation of `ms`.
fn line(at: f64, question: &str, retrieve_us: f64, ms: f64, tokens: usize) -> String {
    let total = retrieve_us + ms * 1000.0 + 5.0;
    format!(
        "{{\"at_s\":{},\"asker\":\"ada\",\"question\":\"{question}\",\"index\":\"4f1c0a9e7d22\",\
         \"stages_us\":[[\"embed\",60000.0],[\"dense\",{retrieve_us}],[\"generate\",{:.1}]],\
         \"total_us\":{:.1},\"context\":[],\"tokens\":{tokens}}}\n",
        1_760_000_000.0 + at,
        ms * 1000.0,
        total + 60_000.0,
    )
}

fn log(s: &Session) {
    let mut text = String::new();
    for at in 0..80_u32 {
        let spread = f64::from(at * 37 % 80);
        let slow = at % 40 == 7;
        let ms = if slow { 9_500.0 } else { 1_800.0 + 20.0 * spread };
        let retrieve = if at == 50 { 420_000.0 } else { 15_000.0 + 200.0 * spread };
        let question = format!("question {}", at % 25);
        let tokens = if slow { 6_000 } else { 700 };
        text.push_str(&line(f64::from(at) * 0.01, &question, retrieve, ms, tokens));
    }
    s.write("usage.jsonl", text + "{\"torn\n");
}

/// Limits that any machine holds.
fn generous(s: &Session) {
    s.edit("evals/atlas-bikes/targets.toml", "p50_at_most = 1.0", "p50_at_most = 5000.0");
    s.edit("evals/atlas-bikes/targets.toml", "p95_at_most = 3.0", "p95_at_most = 9000.0");
}

#[test]
fn latency_of_a_usage_log() {
    let mut s = session!();
    s.bikes();
    log(&s);
    s.run("latency --log usage.jsonl");
    s.say("limits that the log does not hold");
    s.edit("evals/atlas-bikes/targets.toml", "p50_at_most = 4.0", "p50_at_most = 2.0");
    s.edit("evals/atlas-bikes/targets.toml", "p95_at_most = 10.0", "p95_at_most = 3.0");
    let missed = s.run("latency --log usage.jsonl");
    assert_eq!(missed.code, 1);
    s.say("the same, made up: it holds nothing and misses nothing");
    s.write("made-up.jsonl", s.read("usage.jsonl").replace("4f1c0a9e7d22", "synthetic"));
    assert_eq!(s.run("latency --log made-up.jsonl").code, 3);
    s.say("too few requests for a 95th percentile");
    let few: Vec<String> = s.read("usage.jsonl").lines().take(40).map(str::to_owned).collect();
    s.write("few.jsonl", few.join("\n"));
    s.edit("evals/atlas-bikes/targets.toml", "p50_at_most = 2.0", "p50_at_most = 4.0");
    assert_eq!(s.run("latency --log few.jsonl").code, 3);
}

#[test]
fn latency_json() {
    let mut s = session!();
    s.bikes();
    // A machine that is busy with other things must not decide what this test says.
    generous(&s);
    let timed = s.run_json("latency --repeat 5 --format json");
    demand(
        &timed,
        "stages[].name stages[].n stages[].p50_us stages[].p95_us stages[].p99_us stages[].counts \
         total.n total.p50_us total.p95_us total.p99_us targets[].name targets[].limit \
         targets[].value targets[].verdict first.open_us first.search_us",
    );
    assert_eq!((&timed["requests"], &timed["questions"]), (&80.into(), &16.into()));
    let mean = |row: &serde_json::Value| row["mean_us"].as_f64().unwrap();
    let parts: f64 = timed["stages"].as_array().unwrap().iter().map(mean).sum();
    assert!((parts / mean(&timed["total"]) - 1.0).abs() < 1e-9, "stages and gap make up the total");
}

#[test]
fn latency_open_loop() {
    let mut s = session!();
    s.bikes();
    log(&s);
    // Due a thousand times as often as it can be answered: a queue that only an open loop sees.
    let open = s.run_json("latency --rate 2000 --repeat 5 --delay dense=1 --format json");
    let p50 = |name: &str| open[name]["p50_us"].as_f64().unwrap();
    assert!(p50("wait") > 5.0 * p50("total"), "{} {}", p50("wait"), p50("total"));
    let recorded = s.prepare("latency --arrivals usage.jsonl --format json").stdout;
    let recorded: serde_json::Value = serde_json::from_str(&recorded).unwrap();
    assert_eq!(recorded["requests"], 80);
    assert!(recorded["elapsed_us"].as_f64().unwrap() >= 790_000.0, "as the log went");
}

#[test]
fn latency_names_the_stage_that_moved() {
    let s = session!();
    s.bikes();
    s.write("before.json", s.prepare("latency --format json --repeat 5").stdout);
    s.write("more.json", s.prepare("latency --format json --repeat 2").stdout);
    let slow = "latency --repeat 5 --delay fuse=20 --compare before.json --compare more.json";
    let ran = s.prepare(&format!("{slow} --format json"));
    let moved: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(moved["comparison"]["moved"], "fuse");
    assert_eq!(moved["comparison"]["same_ground"], true);
    let n = &moved["comparison"]["changes"][0]["n"];
    assert_eq!(*n, serde_json::json!([112, 80]), "both earlier runs count");
    assert!(ran.code == 1, "a search of 20 ms misses its target");
    let said = s.prepare(slow).stdout;
    let line = said.lines().find(|line| line.starts_with("change")).unwrap();
    let share = line.strip_prefix("change      fuse moved: it explains ").unwrap();
    let share: f64 = share.split(' ').next().unwrap().parse().unwrap();
    assert!(share > 80.0, "{line}");
}

#[test]
fn latency_cold() {
    let s = session!();
    s.bikes();
    let ran = s.prepare("latency --cold --repeat 1 --format json");
    let cold: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&cold["stages"][0]["name"], &cold["warm_up"]), (&"open".into(), &0.into()));
    assert!(cold["targets"].as_array().unwrap().is_empty() && ran.code == 0);
}

#[test]
fn latency_wrong() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("latency --repeat 0");
    s.run("latency --workers 0");
    s.run("latency --rate -1");
    s.run("latency --delay dense");
    s.run("latency --log nowhere.jsonl");
    s.write("log.jsonl", "{\"when\": 3}\n");
    s.run("latency --log log.jsonl");
    s.write("empty.jsonl", "");
    s.run("latency --arrivals empty.jsonl");
    s.write("before.json", "{\"stages\": []}");
    s.run("latency --compare before.json");
    s.edit("evals/atlas-bikes/targets.toml", "p95_at_most = 3.0", "p95_at_mos = 3.0");
    s.run("latency");
}
