/** Revisions and their logs in REST (docs/deployments.md#revisions-and-rollouts). */
import { z } from 'zod'
import { REASON_WORDS } from '../../../domain/errors/reasons.ts'
import { colouredLine, type Line, logLineId } from '../../../domain/logs/lines.ts'
import type { LogPage } from '../../../domain/logs/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { rolloutStartedAt } from '../../../domain/revisions/step-history.ts'
import { traceIdOfRevision } from '../../../domain/revisions/traces.ts'
import type { EventActor } from '../../../domain/values/event-types.ts'
import { currentMessageOf } from '../../../domain/values/lifecycle.ts'
import { TRIGGER_WORDS, TRIGGERS, triggerOf } from '../../../domain/values/revision-source.ts'
import { LogLevel, type Revision, RevisionStatus, Source } from '../../../domain/values/row-types.ts'
import { sourceRevisionConfig } from '../../../domain/values/shapes.ts'
import { actor, describeWords } from './actor.ts'
import { pageSchema, responseSchema, shapeEncoder, time } from './response-schema.ts'

export const reason = z.enum(REASON_WORDS).nullable()

export const revisionConfig = shapeEncoder(sourceRevisionConfig.shape)
/** Replaces the latest revision of a deployment without revisions. All its columns encode as null. */
export const NO_REVISION = {} as Revision

export const revision = responseSchema(
  { id: 'Revision' },
  {
    id: uuid,
    deployment_id: uuid,
    number: z.int().describe('The number of the revision within its deployment: 1, 2, 3, …'),
    status: z.enum(RevisionStatus),
    status_message: z.string().nullable().describe('Why the revision failed or was skipped, or what it waits for.'),
    reason: reason.describe('The same as a machine-readable code.'),
    reason_since: time.nullable().describe('Since when the reason applies.'),
    source: z.enum(Source),
    source_revision_config: sourceRevisionConfig,
    attempt: z.int().describe('The number of the attempt. It starts at 1; each redeploy adds 1.'),
    commit_message: z
      .string()
      .nullable()
      .describe('The first line of the commit message, if git or the provider reported it.'),
    commit_author: z.string().nullable().describe('The name of the commit’s author.'),
    trigger: z
      .enum(TRIGGER_WORDS)
      .nullable()
      .describe(`The trigger of the revision; null if it was not recorded.\n${describeWords(TRIGGERS)}`),
    created_by: actor.nullable().describe('Who created the revision; null if it was not recorded.'),
    rollout_at: time.nullable().describe('When the newest attempt was requested; null if it was not recorded.'),
    rollout_by: actor.nullable().describe('Who requested the newest attempt.'),
    trace_id: z
      .string()
      .nullable()
      .describe('The OpenTelemetry trace of the newest attempt. null: the server exports no traces.'),
    superseded_by_id: uuid.nullable().describe('For a superseded revision, the revision that superseded it.'),
    created_at: time,
    updated_at: time,
  },
  (row: Revision, ctx) => ({
    trigger: triggerOf(row),
    createdBy: row.createdActor as EventActor | null,
    rolloutAt: rolloutStartedAt(row),
    rolloutBy: row.rolloutActor as EventActor | null,
    traceId: traceIdOfRevision(row),
    ...currentMessageOf(row),
    sourceRevisionConfig: revisionConfig(row, ctx),
  }),
)

export const revisionList = pageSchema('RevisionList', revision)

export const logLine = responseSchema(
  {},
  {
    id: z.string().describe('The permanent id of the line. Within a deployment the ids sort, as text, like the lines.'),
    revision_id: uuid,
    timestamp: time,
    level: z.enum(LogLevel),
    message: z.string(),
    ansi: z
      .string()
      .nullable()
      .describe('`message` with its colours as SGR sequences, for terminals; null if it has no colours.'),
    attempt: z.int().describe('The attempt of the revision.'),
    context: z.boolean().describe('True: the filters don’t find this line. It is near a line that they find.'),
  },
  (line: Line) => ({
    ...{ id: logLineId(line), timestamp: line.time, ansi: colouredLine(line) },
    context: line.context ?? false,
  }),
)

export const logPage = responseSchema(
  { id: 'LogPage' },
  {
    logs: z.array(logLine),
    next_offset: z
      .string()
      .nullable()
      .describe(
        'Pass it as `offset` to continue. With `order=asc` it is the position after the last line of this page, and null if the page is empty. To follow a log, keep the last offset that was not null and repeat the call. With `order=desc` it is null at the beginning of the log. With `last` it is the position after the newest line. For an incomplete page it is where the search continues, also without `last` if the page is empty.',
      ),
    incomplete: z
      .boolean()
      .describe(
        'True: the search reached its time limit of 2 seconds before it found `limit` lines or looked at all lines. Continue with `next_offset`.',
      ),
  },
  ({ lines, nextOffset, incomplete }: LogPage) => ({ logs: lines, nextOffset, incomplete }),
)
