//! Every question, closed; opened, what arrived and why.

use std::fmt::Write as _;

use super::{Drill, escaped};

pub(super) fn questions(all: &[Drill]) -> String {
    let mut out = String::from(
        "<p>Open a question to see what was handed over, and why each block came.</p>\n",
    );
    for question in all {
        one(&mut out, question);
    }
    out
}

fn one(out: &mut String, drill: &Drill) {
    let sign = if drill.missed {
        "<span class=\"verdict missed\"><span aria-hidden=\"true\">✗</span> missed</span> "
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "<details><summary><span class=\"row\"><span>{sign}{}</span><span class=\"quiet small\">{}</span></span></summary><div>\n\
         <p class=\"small quiet\"><code>{}</code>, {}{}</p>",
        escaped(&drill.question),
        escaped(&drill.result),
        escaped(&drill.id),
        escaped(&drill.kinds),
        drill
            .asker
            .as_ref()
            .map_or_else(String::new, |asker| format!(", asked by {}", escaped(asker)))
    );
    for lost in &drill.lost {
        let _ = writeln!(out, "<p class=\"warn\">Lost: {}</p>", escaped(lost));
    }
    if drill.arrived.is_empty() {
        out.push_str("<p>Nothing arrived.</p>\n");
    } else {
        out.push_str(
            "<table class=\"cards\"><thead><tr><th scope=\"col\">Block</th><th scope=\"col\" class=\"n\">Score</th>\
             <th scope=\"col\" class=\"n\">Tokens</th><th scope=\"col\">Relevant</th><th scope=\"col\">Why it came</th>\
             </tr></thead><tbody>\n",
        );
    }
    for block in &drill.arrived {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><span class=\"ref\">{}</span><br><span class=\"small\">{}</span><br>\
             <span class=\"quiet small\" dir=\"auto\">{}</span></th><td data-label=\"Score\" class=\"n\"><div>{:.3}</div></td>\
             <td data-label=\"Tokens\" class=\"n\"><div>{}</div></td><td data-label=\"Relevant\"><div>{}</div></td>\
             <td data-label=\"Why\"><div>{}</div></td></tr>",
            escaped(&block.reference),
            escaped(&block.title),
            escaped(&block.text),
            block.score,
            block.tokens,
            if block.relevant { "yes" } else { "no" },
            escaped(&block.why)
        );
    }
    if !drill.arrived.is_empty() {
        out.push_str("</tbody></table>\n");
    }
    out.push_str("</div></details>\n");
}
