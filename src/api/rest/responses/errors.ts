/** The two schemas of errors, and the description of each status (docs/api-rules.md#errors). */
import { z } from 'zod'

const code = z.string().describe('A stable machine-readable code.')
const requestId = z
  .string()
  .describe("The id of the request. It is also in the header `X-Request-Id` and in the server's log.")

export const errorBody = z
  .object({ detail: z.string().describe('A message for people.'), code, request_id: requestId })
  .meta({ id: 'Error' })

export const validationErrorBody = z
  .object({
    detail: z.array(
      z.object({
        loc: z
          .array(z.union([z.string(), z.int()]))
          .describe('Location of the violation: `path`, `query`, `body` or `header`, then the field.'),
        msg: z.string().describe('The allowed values.'),
        type: z.string().describe('A stable machine-readable code.'),
      }),
    ),
    code,
    request_id: requestId,
  })
  .meta({ id: 'ValidationError' })

/** By status, for the OpenAPI document. */
export const errorDescriptions: Record<number, string> = {
  400: "The revision can't be redeployed.",
  401: 'The credential is missing, unknown, expired or revoked.',
  403: "The credential's role is too low, it does not reach this workspace, or the plan does not allow this.",
  404: 'There is no such resource in this workspace.',
  409: 'The name or id is taken, the claim is lost, or the state of the resource forbids the call. `IDEMPOTENCY_IN_FLIGHT` (with `Retry-After`): another call with this `Idempotency-Key` is in progress.',
  412: 'The resource has changed since the version in `If-Match`. Nothing was written.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not JSON.',
  422: 'The path, query, headers or body are not valid. The answer lists all violations.',
  429: 'The key has exceeded a limit. `Retry-After` says when to try again.',
  500: 'Internal error.',
  502: 'The git provider can’t be reached.',
  503: 'The server is overloaded, or its database can’t be reached. `Retry-After` says when to try again. `OUTCOME_UNKNOWN` has no `Retry-After`: the write may have succeeded. Repeat it with the same `Idempotency-Key`, or read the resource first.',
}

/** For the OpenAPI document. */
export const jsonContent = (description: string, schema: object) => ({
  description,
  content: { 'application/json': { schema } },
})

/** By status: the answers for errors, for the OpenAPI document. */
export function documentedErrors<S extends number>(...statuses: S[]) {
  const answers = statuses.map((status) => {
    const schema = status === 422 ? validationErrorBody : errorBody
    return [status, jsonContent(errorDescriptions[status]!, schema)] as const
  })
  return Object.fromEntries(answers) as Record<S, ReturnType<typeof jsonContent>>
}
