/** Chooses between JSON and an event stream by the Accept header (RFC 9110, 12.5.1). Pure. */

export const EVENT_STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

/** Without a header, with equal quality, and with neither type accepted, the answer is JSON. */
export function prefersStream(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const ranges = accept.toLowerCase().split(',').map(rangeOf)
  return qualityOf(ranges, EVENT_STREAM) > qualityOf(ranges, JSON_TYPE)
}

interface Range {
  type: string
  quality: number
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const quality = parameters.map((parameter) => /^q=([\d.]{1,5})$/.exec(parameter)?.[1]).find((q) => q !== undefined)
  return { type, quality: quality === undefined ? 1 : Math.min(Number(quality) || 0, 1) }
}

/** The quality of the most specific range that includes `type`; 0 if none does. */
function qualityOf(ranges: readonly Range[], type: string): number {
  for (const candidate of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const found = ranges.find((range) => range.type === candidate)
    if (found) return found.quality
  }
  return 0
}
