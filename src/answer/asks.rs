//! What a question asks for, as far as its words tell.

/// Words after `how` that ask for a quantity.
const HOW: [&str; 32] = [
    "big",
    "close",
    "cold",
    "deep",
    "expensive",
    "far",
    "fast",
    "frequently",
    "full",
    "heavy",
    "high",
    "hot",
    "large",
    "late",
    "little",
    "long",
    "loud",
    "low",
    "many",
    "much",
    "often",
    "old",
    "quickly",
    "short",
    "small",
    "soon",
    "tall",
    "thick",
    "tight",
    "warm",
    "wide",
    "young",
];

/// Nouns that name a quantity: `which price`, `what is the torque`.
const QUANTITIES: [&str; 39] = [
    "age",
    "amount",
    "capacity",
    "charge",
    "commission",
    "cost",
    "date",
    "deadline",
    "discount",
    "distance",
    "fee",
    "height",
    "interval",
    "length",
    "level",
    "limit",
    "margin",
    "maximum",
    "mileage",
    "minimum",
    "number",
    "percentage",
    "period",
    "pressure",
    "price",
    "range",
    "rate",
    "rebate",
    "share",
    "size",
    "speed",
    "target",
    "temperature",
    "term",
    "time",
    "torque",
    "voltage",
    "weight",
    "width",
];

/// Numbers in words, and words that stand for one.
const NUMBERS: [&str; 30] = [
    "daily", "double", "dozen", "eight", "eighteen", "eleven", "fifteen", "fifty", "five", "forty",
    "four", "half", "hourly", "hundred", "lifetime", "monthly", "nine", "once", "one", "quarter",
    "seven", "six", "ten", "thirty", "three", "twelve", "twenty", "twice", "two", "weekly",
];

/// Whether the question asks for a quantity: an amount, a time, a count, a measure.
///
/// English only; of a question in another language it says no, which costs nothing but a hint.
pub(super) fn for_quantity(question: &str) -> bool {
    let words = words(question);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let asks_how =
        words.windows(2).any(|pair| pair[0] == "how" && HOW.binary_search(&pair[1]).is_ok());
    let which = words.iter().position(|word| ["what", "which", "whose"].contains(word));
    let names = |word: &&str| {
        let one = word.strip_suffix('s').unwrap_or(word);
        QUANTITIES.binary_search(word).is_ok() || QUANTITIES.binary_search(&one).is_ok()
    };
    asks_how
        || words.contains(&"when")
        || which.is_some_and(|at| words.iter().skip(at + 1).take(6).any(names))
}

/// Whether `text` states a quantity, in digits or in words.
pub(super) fn has_quantity(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        || words(text).iter().any(|word| NUMBERS.binary_search(&word.as_str()).is_ok())
}

fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        assert!(HOW.is_sorted() && QUANTITIES.is_sorted() && NUMBERS.is_sorted());
    }

    #[test]
    fn quantities_are_asked_for_and_stated() {
        for question in [
            "How long is the warranty?",
            "When are invoices due?",
            "What is the torque of the stem clamp?",
            "Which fees do we charge?",
        ] {
            assert!(for_quantity(question), "{question}");
        }
        for question in ["What does E-417 stand for?", "How do I begin?", "Wie lange?"] {
            assert!(!for_quantity(question), "{question}");
        }
        assert!(has_quantity("after 30 days") && has_quantity("Half of it"));
        assert!(!has_quantity("Remove the battery."));
    }
}
