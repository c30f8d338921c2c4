/** A revision's source: what is built or run. And its trigger: what caused the revision (docs/deployments.md#revisions-and-rollouts). */
import type { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { type Camel, camel } from '../parsing/codec.ts'
import { buildMembers, revisionMembers, type UpdateBody } from './shapes.ts'

export const TRIGGERS = {
  create: 'The deployment was created with this revision.',
  update: 'A caller changed what is built or run.',
  secrets: 'A caller changed secrets and not the source.',
  request: 'A caller requested a new revision.',
  push: 'A commit was pushed to the branch.',
} as const
export type Trigger = keyof typeof TRIGGERS
export const TRIGGER_WORDS = Object.keys(TRIGGERS) as [Trigger, ...Trigger[]]

/** The stored trigger. A first revision without one counts as `create`. Null: unknown, or a word of a newer server. */
export function triggerOf({ trigger, number }: { trigger: string | null; number: number }): Trigger | null {
  if (trigger === null) return number === 1 ? 'create' : null
  return trigger in TRIGGERS ? (trigger as Trigger) : null
}

/** The columns of members. Null: not given. */
type ColumnsOf<S extends z.ZodRawShape> = {
  [K in keyof S & string as Camel<K>]: NonNullable<z.output<S[K]>> | null
}

type RevisionColumns = ColumnsOf<typeof revisionMembers>
export type BuildColumns = ColumnsOf<typeof buildMembers>

/** The columns of `buildMembers`, as Prisma selects them. */
export const BUILD_COLUMNS = Object.fromEntries(Object.keys(buildMembers).map((name) => [camel(name), true])) as {
  [K in keyof BuildColumns]: true
}

/** The first line of the commit's message and the name of its author. Null: not reported. */
export interface CommitWords {
  commitMessage: string | null
  commitAuthor: string | null
}

export const NO_COMMIT_WORDS: CommitWords = { commitMessage: null, commitAuthor: null }

const MAX_COMMIT_CHARS = { message: 500, author: 200 }

const shortened = (text = '', max: number) => /[^\r\n]*/.exec(text.trim())?.[0].trim().slice(0, max) || null

/** Takes the first line of the message. An empty text becomes null. */
export function commitWords(message: string | undefined, author: string | undefined): CommitWords {
  return {
    commitMessage: shortened(message, MAX_COMMIT_CHARS.message),
    commitAuthor: shortened(author, MAX_COMMIT_CHARS.author),
  }
}

export interface RevisionSource extends RevisionColumns, BuildColumns, CommitWords {
  /** the commit to build; null: the build uses the commit that `repoRef` points to */
  repoCommitSha: string | null
  /** the result of an earlier build; null: a build is needed */
  artifact: string | null
  /** the reported build plan (build-plan.ts); null: none was reported */
  buildPlan: Prisma.JsonValue
  /** the revision that this source was copied from; null: not a copy */
  basedOnId: string | null
}

type Part = object | null | undefined
const member = (part: Part, name: string) => (part as Record<string, unknown> | null | undefined)?.[name]

/** Takes each column from `given` (a part of a body), else from `kept`. An empty text in `given` becomes null. */
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

export const saysRevision = (body: UpdateBody): boolean => says(revisionMembers, body.source_revision_config)

export const saysSource = (body: UpdateBody): boolean => saysRevision(body) || says(buildMembers, body.source_config)
