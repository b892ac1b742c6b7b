//! A stub server in a thread: it reads one request after the other and says what it was told to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::*;

/// A server that answers each connection with the next of `replies`; the requests' bodies come out of the
/// channel. `\u{1}` in a reply is a pause of 400 ms.
fn serve(replies: Vec<String>) -> (EndpointSettings, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for reply in replies {
            let Ok((stream, _)) = listener.accept() else { return };
            let _ = sender.send(request(&stream));
            let mut stream = stream;
            for (at, part) in reply.split('\u{1}').enumerate() {
                if at > 0 {
                    thread::sleep(Duration::from_millis(400));
                }
                if stream.write_all(part.as_bytes()).is_err() {
                    break;
                }
                let _ = stream.flush();
            }
        }
    });
    let settings = EndpointSettings { url, timeout_ms: 5000, ..EndpointSettings::default() };
    (settings, receiver)
}

/// Reads a request, whose body is as long as it says.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(own) = line.to_lowercase().strip_prefix("content-length:") {
            length = own.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    String::from_utf8(body).unwrap()
}

fn http(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

fn json_reply(content: &str) -> String {
    let body = json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]});
    http("200 OK", "application/json", &body.to_string())
}

fn events(parts: &[&str], end: &str) -> String {
    let mut body = ": hello\n\n".to_owned();
    for part in parts {
        let chunk = json!({"choices": [{"delta": {"content": part}}]});
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    http("200 OK", "text/event-stream; charset=utf-8", &format!("{body}{end}"))
}

fn ask(settings: &EndpointSettings) -> Result<Said> {
    let message = Message { role: "user", content: "How long?".to_owned() };
    Client::new(settings).unwrap().chat(&[message])
}

fn fault(settings: &EndpointSettings) -> String {
    let said = ask(settings).unwrap_err().to_string();
    said.replace(&settings.url, "URL")
}

#[test]
fn a_stream_is_joined() {
    let (settings, requests) = serve(vec![events(&["Three ", "years", "."], "data: [DONE]\n\n")]);
    assert_eq!(ask(&settings).unwrap(), Said { text: "Three years.".into(), refused: false });
    let body: serde_json::Value = serde_json::from_str(&requests.recv().unwrap()).unwrap();
    assert_eq!(body["stream"], true);
    assert_eq!(body["temperature"], 0);
    assert_eq!(body["messages"][0]["content"], "How long?");
}

#[test]
fn one_object_will_do() {
    let (settings, _requests) = serve(vec![json_reply("Three years.")]);
    assert_eq!(ask(&settings).unwrap().text, "Three years.");
}

#[test]
fn a_stream_that_breaks_off_is_no_answer() {
    let (settings, _requests) = serve(vec![events(&["Three "], "")]);
    let expected =
        "endpoint URL: its answer ends before its end; it must speak OpenAI's chat completions";
    assert_eq!(fault(&settings), expected);
}

#[test]
fn an_answer_cut_short_is_none() {
    let end = r#"data: {"choices": [{"delta": {}, "finish_reason": "length"}]}"#;
    let (settings, _requests) = serve(vec![events(&["Three "], &format!("{end}\n\n"))]);
    assert!(fault(&settings).contains("cut at the most tokens"));
}

#[test]
fn time_runs_out_before_and_within_an_answer() {
    for reply in
        [format!("\u{1}{}", json_reply("late")), events(&["Three "], "\u{1}data: [DONE]\n\n")]
    {
        let (settings, _requests) = serve(vec![reply]);
        let settings = EndpointSettings { timeout_ms: 150, ..settings };
        let said = fault(&settings);
        assert!(said.starts_with("endpoint URL: no whole answer within 150 ms; raise"), "{said}");
    }
}

#[test]
fn a_refusal_of_the_model_is_told_and_is_no_abstention() {
    let body =
        json!({"choices": [{"message": {"refusal": "I can't help."}, "finish_reason": "stop"}]});
    let reply = http("200 OK", "application/json", &body.to_string());
    let (settings, _requests) = serve(vec![reply]);
    assert_eq!(ask(&settings).unwrap(), Said { text: "I can't help.".into(), refused: true });
    let whole = crate::answer::refusal("I can't help.", &Settings::default());
    assert_eq!(whole, crate::answer::Refusal::Not);
}

#[test]
fn what_is_not_the_json_expected_is_shown() {
    let (settings, _requests) = serve(vec![http("200 OK", "application/json", "<html>no</html>")]);
    let said = fault(&settings);
    assert!(
        said.contains("is not the JSON expected") && said.contains("`<html>no</html>`"),
        "{said}"
    );
    let (settings, _requests) = serve(vec![events(&[], "data: {\"choices\": [{]}\n\n")]);
    assert!(fault(&settings).contains("is not the JSON expected"));
    let error = http("200 OK", "application/json", r#"{"error": {"message": "no such model"}}"#);
    let (settings, _requests) = serve(vec![error]);
    assert!(fault(&settings).contains("it answered with an error: no such model"));
}

#[test]
fn too_many_requests_are_made_again() {
    let busy = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (settings, requests) = serve(vec![busy.to_owned(), busy.to_owned(), json_reply("Three.")]);
    assert_eq!(ask(&settings).unwrap().text, "Three.");
    assert_eq!(requests.try_iter().count(), 3);
    let (settings, _requests) = serve(vec![busy.to_owned(); 3]);
    let expected = "endpoint URL: it answered 429, 3 times; wait, or raise answer.endpoint.retries";
    assert_eq!(fault(&settings), expected);
}

#[test]
fn a_fault_of_the_server_is_tried_again_and_told() {
    let broken = http("500 Internal Server Error", "text/plain", "oops");
    let (settings, _requests) = serve(vec![broken.clone(), json_reply("Three.")]);
    let settings = EndpointSettings { max_wait_ms: 1, ..settings };
    assert_eq!(ask(&settings).unwrap().text, "Three.");
    let (settings, _requests) = serve(vec![broken; 3]);
    let settings = EndpointSettings { max_wait_ms: 1, ..settings };
    assert!(fault(&settings).starts_with("endpoint URL: it answered 500, 3 times"));
}

#[test]
fn other_answers_are_not_tried_again() {
    let missing =
        http("404 Not Found", "application/json", r#"{"error": {"message": "no model"}}"#);
    let (settings, requests) = serve(vec![missing.clone(), missing]);
    assert!(fault(&settings).starts_with("endpoint URL: it answered 404: no model; check"));
    assert_eq!(requests.try_iter().count(), 1);
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let settings = EndpointSettings { url, ..EndpointSettings::default() };
    assert!(fault(&settings).starts_with("endpoint URL: it cannot be reached: "));
}

#[test]
fn marks_become_citations() {
    let (text, names) =
        without_marks("Three years [WARR-R2-2]. Not two [WARR-R1-2, WARR-R2-2] [see below] [1");
    assert_eq!(text, "Three years. Not two [see below] [1");
    assert_eq!(names, ["WARR-R2-2", "WARR-R1-2"]);
}
