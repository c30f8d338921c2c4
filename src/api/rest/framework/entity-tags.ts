/** Reads lists of entity tags, as in If-Match and If-None-Match (RFC 9110, 8.8.3 and 5.6.1). Pure. */

export interface EntityTag {
  /** marked `W/`: of equal meaning, but perhaps not equal in every byte */
  weak: boolean
  /** what is between the quotes */
  opaque: string
}

/** `*`: whatever there is. */
export type TagList = '*' | readonly EntityTag[]

/** One tag, or nothing, which a list may have, too; and what ends it. Blanks match in one way alone: in two it would be n². */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** Null: it is none of it. At least one tag has to be there. */
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
