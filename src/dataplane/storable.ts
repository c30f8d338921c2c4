/**
 * What a cluster or a process said, as the control plane can store it: Postgres has no NUL and no half of a surrogate
 * pair in text, and one such message would have the heartbeat of all claims refused.
 */

/** At most `most` characters; what can't be stored becomes U+FFFD. */
export function storable(text: string, most?: number): string {
  return text.slice(0, most).replace(/\0|\p{Surrogate}/gu, '\ufffd')
}
