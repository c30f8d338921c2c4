/** Errors in the form that pages show. They come from GraphQL, from a mutation's union or from the network. */
import type { CombinedError } from '@urql/core'

export interface Problem {
  /** a code of the server's error catalogue, or OFFLINE: the server is unreachable */
  code: string
  /** for users; says what they can do */
  message: string
  /** the invalid fields of a ValidationError */
  issues: readonly { path: readonly string[]; message: string; code: string }[]
  /** the current version, from a PreconditionFailedError */
  version: number | null
}

const OFFLINE = 'The server can’t be reached at the moment. What you see may be out of date.'

export const createProblem = (code: string, message: string): Problem => ({ code, message, issues: [], version: null })

export function problemOf(error: CombinedError): Problem {
  const [first] = error.graphQLErrors
  if (first) return createProblem(String(first.extensions.code ?? 'INTERNAL'), first.message)
  const status = error.response?.status
  if (status === 401) return createProblem('UNAUTHENTICATED', 'You are signed out.')
  if (status === 429) return createProblem('RATE_LIMITED', 'That was too much at once. Wait a moment, then try again.')
  return createProblem('OFFLINE', OFFLINE)
}

/** The object does not exist, or belongs to another workspace. */
export const isNotFound = ({ code }: Problem): boolean => code === 'NOT_FOUND' || code === 'VALIDATION_FAILED'

/** Whether a retry may succeed. */
export const isTransient = ({ code }: Problem): boolean =>
  ['OFFLINE', 'UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL'].includes(code)

/** The error of one form field. An issue's `path` is `input`, then the field. */
export const fieldError = (wrong: Problem | null, field: string): string | undefined =>
  wrong?.issues.find(({ path }) => path.includes(field))?.message

/** Turns ALREADY_EXISTS, which names no field, into an error of this field. */
export const asFieldError = (field: string, wrong: Problem): Problem =>
  wrong.code === 'ALREADY_EXISTS'
    ? { ...wrong, issues: [{ path: ['input', field], message: wrong.message, code: 'already_exists' }] }
    : wrong

/** The first error that belongs to none of these fields; null: none. */
export function formError(wrong: Problem | null, fields: readonly string[]): string | null {
  if (!wrong) return null
  if (wrong.issues.length === 0) return wrong.message
  return wrong.issues.find(({ path }) => !fields.some((field) => path.includes(field)))?.message ?? null
}
