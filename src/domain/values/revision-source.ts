/**
 * What a revision is made of. The members of `source_revision_config` and those of `source_config` that a revision pins
 * are declared in shapes.ts; the columns that keep them have the same names in camelCase, here and everywhere.
 */
import type { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { type Camel, camel } from '../parsing/naming.ts'
import { buildMembers, revisionMembers, type UpdateBody } from './shapes.ts'

/** The columns of members; null where nothing was given. */
type ColumnsOf<S extends z.ZodRawShape> = {
  [K in keyof S & string as Camel<K>]: NonNullable<z.output<S[K]>> | null
}

/** What a caller says of a revision. */
type RevisionColumns = ColumnsOf<typeof revisionMembers>
/** What the revision pins of how its deployment is built. */
export type BuildColumns = ColumnsOf<typeof buildMembers>

/** What a commit says of itself, as far as anybody has told: the first line of its message, and the name of its author. */
export interface CommitWords {
  commitMessage: string | null
  commitAuthor: string | null
}

export const NO_COMMIT_WORDS: CommitWords = { commitMessage: null, commitAuthor: null }

/** Longest of each, in characters. */
const MAX_COMMIT_CHARS = { message: 500, author: 200 }

const shortened = (text = '', max: number) => /[^\r\n]*/.exec(text.trim())?.[0].trim().slice(0, max) || null

/** Of a whole message the first line; what is empty is null. */
export function commitWords(message: string | undefined, author: string | undefined): CommitWords {
  return {
    commitMessage: shortened(message, MAX_COMMIT_CHARS.message),
    commitAuthor: shortened(author, MAX_COMMIT_CHARS.author),
  }
}

/** What a revision is made of, beside what its deployment gives it. */
export interface RevisionSource extends RevisionColumns, BuildColumns, CommitWords {
  /** the commit to build; null: the one that `repoRef` names when the build begins */
  repoCommitSha: string | null
  /** what was built of it already; null: it has to be built */
  artifact: string | null
  /** what its build was, see build-plan.ts; null: nobody has reported one */
  buildPlan: Prisma.JsonValue
  /** the revision that all of this is of; null: it is its own */
  basedOnId: string | null
}

type Part = object | null | undefined
const member = (part: Part, name: string) => (part as Record<string, unknown> | null | undefined)?.[name]

/** Each column as `given` (a part of a body) has it, where an empty text is none; else as it is in `kept`. Pure. */
function columnsOf<S extends z.ZodRawShape>(members: S, given: Part, kept: object): ColumnsOf<S> {
  const columns = Object.keys(members).map((name) => [
    camel(name),
    (member(given, name) ?? member(kept, camel(name))) || null,
  ])
  return Object.fromEntries(columns) as ColumnsOf<S>
}

export const revisionColumns = (given: UpdateBody['source_revision_config'], kept: Partial<RevisionColumns> = {}) =>
  columnsOf(revisionMembers, given, kept)

export const buildColumns = (given: UpdateBody['source_config'], kept: Partial<BuildColumns> = {}) =>
  columnsOf(buildMembers, given, kept)

const says = (members: z.ZodRawShape, given: Part) => Object.keys(members).some((name) => member(given, name) != null)

/** Whether a non-null member says something of a revision. */
export const saysRevision = (body: UpdateBody): boolean => says(revisionMembers, body.source_revision_config)

/** Whether a non-null member says what is built or run. */
export const saysSource = (body: UpdateBody): boolean => saysRevision(body) || says(buildMembers, body.source_config)
