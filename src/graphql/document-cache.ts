/**
 * What was parsed (and with it, what was validated) is kept for the next who sends the same text: bounded by the text,
 * since the tree of a document takes some hundred times as much as its text does.
 */
import { LRUCache } from 'lru-cache'

/** Characters of all texts together. */
const MOST_TEXT = 512 * 1024
/** A longer one is read anew each time: it has large values in it, which are no two times the same. */
const LONGEST_TEXT = 32 * 1024

export function createDocumentCache<T extends object>(): LRUCache<string, T> {
  return new LRUCache({
    maxSize: MOST_TEXT,
    maxEntrySize: LONGEST_TEXT,
    sizeCalculation: (_document, text) => Math.max(text.length, 1),
  })
}
