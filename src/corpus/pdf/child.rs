//! The parent's side: a helper is started, waited for, and ended when it takes too long.

use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Answer, PdfHelper};
use crate::corpus::CorpusSettings;

/// How many times its processor seconds a helper may take by the clock: on a busy machine it waits
/// for its turn, and what is read must not depend on how busy the machine is.
const CLOCK_FACTOR: u64 = 4;

/// Bytes of complaints that are read.
const COMPLAINT_BYTES: u64 = 4096;

/// How long a helper that has closed its output may take to end, looked at every so often.
const END_LOOKS: u32 = 200;
const END_LOOK: Duration = Duration::from_millis(10);

/// What went wrong, and the way out.
type Fault = (String, &'static str);

/// Has `helper` read `file`.
pub(super) fn ask(
    helper: &PdfHelper,
    file: File,
    settings: &CorpusSettings,
) -> Result<Answer, Fault> {
    let _place = Place::wait();
    let CorpusSettings { pdf_memory_bytes, pdf_seconds, max_unpacked_bytes, .. } = settings;
    let mut command = Command::new(&helper.program);
    command.args(&helper.arguments).args([pdf_memory_bytes.to_string(), pdf_seconds.to_string()]);
    command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|fault| {
        (format!("the program that reads PDFs could not be started: {fault}"), "")
    })?;
    let mut child = Ended(child);
    let output = gather(child.0.stdout.take(), *max_unpacked_bytes);
    let complaint = gather(child.0.stderr.take(), COMPLAINT_BYTES);
    let limit = Duration::from_secs(pdf_seconds.saturating_mul(CLOCK_FACTOR));
    let too_long = || {
        let text = format!(
            "reading it took longer than {CLOCK_FACTOR} times `pdf_seconds` = {pdf_seconds} by the clock"
        );
        (text, "raise the setting if the file is worth it")
    };
    let output = match output.recv_timeout(limit) {
        Ok(output) => output,
        Err(RecvTimeoutError::Timeout) => return Err(too_long()),
        Err(RecvTimeoutError::Disconnected) => Vec::new(),
    };
    if output.len() as u64 > *max_unpacked_bytes {
        let problem =
            format!("its text is longer than `max_unpacked_bytes` = {max_unpacked_bytes}");
        return Err((problem, "raise the setting if the file is worth it"));
    }
    let Some(status) = child.status() else { return Err(too_long()) };
    if !status.success() {
        let complaint = complaint.recv_timeout(END_LOOK * END_LOOKS).unwrap_or_default();
        return Err(reason(status, &String::from_utf8_lossy(&complaint), settings));
    }
    serde_json::from_slice(&output).map_err(|_| {
        let problem = "the program that reads PDFs gave an answer that cannot be understood";
        (problem.to_owned(), "")
    })
}

/// Reads at most one byte more than `most` of a pipe, beside whatever else goes on.
fn gather(pipe: Option<impl std::io::Read + Send + 'static>, most: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read up to a fault counts; the receiver may have given up.
            let _ = pipe.take(most.saturating_add(1)).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
        });
    }
    receiver
}

/// Why a helper did not end well.
fn reason(status: ExitStatus, complaint: &str, settings: &CorpusSettings) -> Fault {
    if ["memory allocation of", "out of memory", "Cannot allocate memory", "os error 11"]
        .iter()
        .any(|sign| complaint.contains(sign))
    {
        let most = settings.pdf_memory_bytes;
        let problem = format!("reading it needs more memory than `pdf_memory_bytes` = {most}");
        return (problem, "raise the setting if the file is worth it");
    }
    if complaint.contains("overflowed its stack") {
        return ("its objects are nested too deeply".to_owned(), "");
    }
    match signal(status) {
        Some(CPU_TIME_OVER) => {
            let most = settings.pdf_seconds;
            let problem = format!("reading it took longer than `pdf_seconds` = {most}");
            (problem, "raise the setting if the file is worth it")
        }
        Some(signal) => (format!("the program that reads PDFs was ended by signal {signal}"), ""),
        None => {
            let code = status.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
            (format!("the program that reads PDFs failed with exit code {code}"), "")
        }
    }
}

/// The signal of a process that has used up its processor time; the number is the same on Linux,
/// macOS and the BSDs.
const CPU_TIME_OVER: i32 = 24;

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// A child that does not outlive its owner.
struct Ended(Child);

impl Ended {
    /// How the child ended; `None` when it does not, though it has said all it has to say.
    fn status(&mut self) -> Option<ExitStatus> {
        for _ in 0..END_LOOKS {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => thread::sleep(END_LOOK),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has ended is not there to be ended; either way nothing is left to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One of the places for helpers: as many run at once as the machine has processors.
struct Place;

static RUNNING: Mutex<usize> = Mutex::new(0);
static LEFT: Condvar = Condvar::new();

impl Place {
    fn wait() -> Self {
        let most = thread::available_parallelism().map_or(1, usize::from);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        while *running >= most {
            running = LEFT.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        *running += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        LEFT.notify_one();
    }
}
