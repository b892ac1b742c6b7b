//! English words that say nothing about what a question is after.

/// Lower case, in byte order. Lucene's classic list with pronouns, and the question words and
/// auxiliaries that open most questions put to a help desk. Whether to use it was decided on the tuning
/// halves of ten public sets (`ARCHITECTURE.md`, "What was measured"); single words were not tried.
const ENGLISH: [&str; 77] = [
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "my", "no", "not", "of", "on",
    "or", "our", "shall", "she", "should", "so", "such", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when",
    "where", "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// Whether `word` (lower case, not stemmed) is a stop word of `language`.
pub(crate) fn is_stop(language: &str, word: &str) -> bool {
    language == "en" && ENGLISH.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_every_word_of_it_is_found() {
        assert!(ENGLISH.is_sorted());
        assert!(ENGLISH.iter().all(|word| is_stop("en", word)));
        assert!(!is_stop("en", "warranty") && !is_stop("de", "the"));
    }
}
