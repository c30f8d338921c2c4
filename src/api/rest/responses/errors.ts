/** The two shapes of an error, and what each status means (docs/api-rules.md#errors). */
import { z } from 'zod'

const code = z.string().describe('A stable word for programs.')
const requestId = z.string().describe("Also in the header X-Request-Id and in the server's log.")

export const errorBody = z
  .object({ detail: z.string().describe('For people.'), code, request_id: requestId })
  .meta({ id: 'Error' })

export const validationErrorBody = z
  .object({
    detail: z.array(
      z.object({
        loc: z.array(z.union([z.string(), z.int()])).describe('Where: path, query, body or header; then the field.'),
        msg: z.string().describe('What is allowed.'),
        type: z.string().describe('A stable word for programs.'),
      }),
    ),
    code,
    request_id: requestId,
  })
  .meta({ id: 'ValidationError' })

/** What each error status means, in the document. */
export const errorDescriptions: Record<number, string> = {
  400: "The revision can't be redeployed.",
  401: 'The credential is missing, unknown, expired or revoked.',
  403: "The credential's role is too low, it does not reach this workspace, or the plan does not allow this.",
  404: 'There is no such resource in this workspace.',
  409: 'The name or id is taken, the claim is lost, or the state of the resource forbids this; or a call with this `Idempotency-Key` is being worked on (`IDEMPOTENCY_IN_FLIGHT`, with `Retry-After`).',
  412: 'Somebody has edited it since the `If-Match` that was sent: nothing was changed.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not JSON.',
  422: 'Path, query, headers or body are not valid: everything that is wrong, at once.',
  429: 'Too much for this key: `Retry-After` says when to try again.',
  500: 'Internal error.',
  502: 'The git provider can’t be reached.',
  503: 'The server is too busy, or its database can’t be reached: `Retry-After` says when to try again. `OUTCOME_UNKNOWN` has none: what was to be written may have been, so repeat it with its `Idempotency-Key`, or look first.',
}
