/** Finds the matching lines of a log, also of a long one: it skips blocks of lines without a match (README.md). */
import type { ReadContext } from '../transaction/context.ts'
import { type Block, readBlocks } from './blocks.ts'
import type { LogFilter } from './filter.ts'
import {
  type IdRange,
  type Line,
  type LogKey,
  type LogWindow,
  MAX_LINE_ID,
  rangeOfRevision,
  scanLines,
} from './lines.ts'

export interface Found {
  /** in the order of the window */
  lines: Line[]
  /** the position to continue from, if the time limit ended the search before it looked at all lines */
  stoppedAt: bigint | null
}

/** These lines are read without blocks: they have the frequent texts, and are all lines of a short log. */
const NEAR_LINES = 2_000
/** About 20 ms. */
const LINES_PER_STATEMENT = 20_000
/** About 30 ms. */
const BLOCKS_PER_STATEMENT = 200

/** `isCandidate`: the range may have matches; otherwise its blocks have not been asked. */
interface Part {
  range: IdRange
  isCandidate: boolean
}

/** `deploymentId`: also of a revision's log. */
export async function searchLines(
  ctx: ReadContext,
  log: LogKey & { deploymentId: string },
  filter: LogFilter,
  { order, take, after = 0n, before = MAX_LINE_ID }: LogWindow,
): Promise<Found> {
  const { db, searches, workspace, client } = ctx
  const endAt = performance.now() + (searches?.limitMs ?? Number.POSITIVE_INFINITY)
  const walk = WALKS[order]
  const lines: Line[] = []

  /** Reads at most `most` lines of the range. Returns the rest of it. */
  async function read(range: IdRange, most: number): Promise<IdRange | null> {
    const { found, edge } = await scanLines(db, log, filter, { ...range, order, take: take - lines.length }, most)
    lines.push(...found)
    return edge === null ? null : walk.behind(range, { after: edge - 1n, last: edge })
  }

  const step = async ({ range, isCandidate }: Part): Promise<Part[]> => {
    if (!isCandidate)
      return skip(range, await readBlocks(db, log, filter, { ...range, order, take: BLOCKS_PER_STATEMENT }))
    const rest = await read(range, LINES_PER_STATEMENT)
    return rest ? [{ range: rest, isCandidate }] : []
  }

  /** The parts of the range that its first blocks don't rule out, and the part behind these blocks. */
  function skip(range: IdRange, blocks: readonly Block[]): Part[] {
    const parts: Part[] = []
    let rest = range
    for (const block of blocks)
      if (!block.mayMatch) {
        parts.push({ range: walk.until(rest, block), isCandidate: true })
        rest = walk.behind(rest, block)
      }
    const last = blocks.at(-1)
    if (!last || blocks.length < BLOCKS_PER_STATEMENT) parts.push({ range: rest, isCandidate: true })
    else
      parts.push(
        { range: walk.through(rest, last), isCandidate: true },
        { range: walk.behind(rest, last), isCandidate: false },
      )
    return parts.filter(({ range: { after, before } }) => after + 1n < before)
  }

  let rest = await read({ after, before }, NEAR_LINES)
  if (rest && log.by === 'revisionId') rest = await rangeOfRevision(db, log, rest)
  let parts: Part[] = rest ? [{ range: rest, isCandidate: false }] : []
  while (parts[0] && lines.length < take) {
    const [next, ...others] = parts
    const isLate = performance.now() > endAt
    const found = isLate
      ? null
      : searches
        ? await searches.run(workspace.id, client, () => step(next))
        : await step(next)
    if (!found) return { lines, stoppedAt: walk.start(next.range) }
    parts = [...found, ...others]
  }
  return { lines, stoppedAt: null }
}

/** Parts of a range in one direction: before a block, with it, and behind it. */
const WALKS = {
  asc: {
    start: ({ after }: IdRange) => after,
    until: (range: IdRange, { after }: BlockIds): IdRange => ({ ...range, before: after + 1n }),
    through: ({ after, before }: IdRange, { last }: BlockIds): IdRange => ({
      after,
      before: last < before ? last + 1n : before,
    }),
    behind: (range: IdRange, { last }: BlockIds): IdRange => ({ ...range, after: last }),
  },
  desc: {
    start: ({ before }: IdRange) => before,
    until: (range: IdRange, { last }: BlockIds): IdRange => ({ ...range, after: last }),
    through: (range: IdRange, { after }: BlockIds): IdRange => ({
      ...range,
      after: after > range.after ? after : range.after,
    }),
    behind: (range: IdRange, { after }: BlockIds): IdRange => ({ ...range, before: after + 1n }),
  },
}

/** Lines with ids after `after`, up to `last`. */
type BlockIds = Pick<Block, 'after' | 'last'>
