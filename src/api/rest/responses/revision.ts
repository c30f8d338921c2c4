/** Revisions and their logs as REST shows them (docs/deployments.md#revisions-and-rollouts). */
import { z } from 'zod'
import { colouredLine, logLineId } from '../../../domain/logs/lines.ts'
import type { LogPage } from '../../../domain/logs/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { REVISION_DERIVED_FIELDS } from '../../../domain/revisions/derived-fields.ts'
import { REASON_WORDS } from '../../../domain/values/reasons.ts'
import { LogLevel, type LogLine, type Revision, RevisionStatus, Source } from '../../../domain/values/row-types.ts'
import { sourceRevisionConfig } from '../../../domain/values/shapes.ts'
import { currentMessageOf } from '../../../domain/values/status-words.ts'
import { TRIGGER_WORDS, TRIGGERS } from '../../../domain/values/trigger.ts'
import { actor, describeWords } from './actor.ts'
import type { ResponseHeaders } from './response-headers.ts'
import { pageSchema, responseSchema, shapeEncoder, time } from './response-schema.ts'

export const reason = z.enum(REASON_WORDS).nullable()

export const revisionConfig = shapeEncoder(sourceRevisionConfig.shape)
/** Stands in for the latest revision of a deployment that has none yet: its columns are all null. */
export const NO_REVISION = {} as Revision

export const revision = responseSchema(
  { id: 'Revision' },
  {
    id: uuid,
    deployment_id: uuid,
    number: z.int().describe('1, 2, 3 … within its deployment.'),
    status: z.enum(RevisionStatus),
    status_message: z.string().nullable().describe('Why it failed or was skipped, or what it waits for.'),
    reason: reason.describe('The same in a word for machines.'),
    reason_since: time.nullable().describe('Since when that is the reason.'),
    source: z.enum(Source),
    source_revision_config: sourceRevisionConfig,
    attempt: z.int().describe('1, and one more at each redeploy.'),
    commit_message: z
      .string()
      .nullable()
      .describe('The first line of what its commit says, as far as git or the provider told it.'),
    commit_author: z.string().nullable().describe('The name of the commit’s author.'),
    trigger: z
      .enum(TRIGGER_WORDS)
      .nullable()
      .describe(`What made it; null: nobody noted it.\n${describeWords(TRIGGERS)}`),
    created_by: actor.nullable().describe('Who made it; null: nobody noted it.'),
    rollout_at: time.nullable().describe('When its newest attempt was asked for; null: nobody noted it.'),
    rollout_by: actor.nullable().describe('Who asked for its newest attempt.'),
    superseded_by_id: uuid.nullable().describe('Of one that was skipped: the revision of the newer rollout.'),
    created_at: time,
    updated_at: time,
  },
  (row: Revision, ctx) => ({
    trigger: REVISION_DERIVED_FIELDS.trigger.derive(row),
    createdBy: REVISION_DERIVED_FIELDS.createdByActor.derive(row),
    rolloutAt: REVISION_DERIVED_FIELDS.rolloutAt.derive(row),
    rolloutBy: REVISION_DERIVED_FIELDS.rolloutBy.derive(row),
    ...currentMessageOf(row),
    sourceRevisionConfig: revisionConfig(row, ctx),
  }),
)

export const revisionList = pageSchema('RevisionList', revision)

/** Of the answers of writes: others may write meanwhile, but this is the revision of this very call. */
export const REVISION_ID_HEADER = {
  'X-Revision-Id': {
    type: 'string',
    format: 'uuid',
    description: 'The revision that this call made or moved; absent if there is none.',
  },
} as const satisfies ResponseHeaders

/** The header itself; none for a call that made and moved no revision. */
export const revisionIdHeader = (revisionId: string | null) =>
  revisionId === null ? {} : { 'X-Revision-Id': revisionId }

export const logLine = responseSchema(
  {},
  {
    id: z.string().describe('Of the line, for good. As text they sort as the lines do within the deployment.'),
    revision_id: uuid,
    timestamp: time,
    level: z.enum(LogLevel),
    message: z.string(),
    ansi: z
      .string()
      .nullable()
      .describe('`message` in the colours it was printed in, for terminals: with SGR sequences. null: it has none.'),
    attempt: z.int().describe('Of the revision.'),
  },
  (line: LogLine) => ({ id: logLineId(line), timestamp: line.time, ansi: colouredLine(line) }),
)

export const logPage = responseSchema(
  { id: 'LogPage' },
  {
    logs: z.array(logLine),
    next_offset: z
      .string()
      .nullable()
      .describe(
        'Pass it as `offset` to go on. With `order=asc` it points behind the last line of this page and is null when the page is empty: to follow a log, keep the last one you were given and ask again. With `order=desc` it is null at the beginning of the log. With `last` it points behind the newest line.',
      ),
  },
  ({ lines, nextOffset }: LogPage) => ({ logs: lines, nextOffset }),
)
