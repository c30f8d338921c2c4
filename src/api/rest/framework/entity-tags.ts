/** Reads lists of entity tags, as in If-Match and If-None-Match (RFC 9110, 8.8.3 and 5.6.1). Pure. */

export interface EntityTag {
  /** marked `W/`: equal in meaning, not necessarily in every byte */
  weak: boolean
  /** the text between the quotes */
  opaque: string
}

/** `*` matches every existing resource. */
export type TagList = '*' | readonly EntityTag[]

/** One tag or an empty element, and the comma after it. Blanks match in only one way; two ways would take quadratic time. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** Null: not a list of at least one tag. */
export function parseTags(text: string): TagList | null {
  if (text.trim() === '*') return '*'
  const tags: EntityTag[] = []
  ELEMENT.lastIndex = 0
  while (ELEMENT.lastIndex < text.length) {
    const found = ELEMENT.exec(text)
    if (!found) return null
    if (found[2] !== undefined) tags.push({ weak: found[1] !== undefined, opaque: found[2] })
  }
  return tags.length > 0 ? tags : null
}
