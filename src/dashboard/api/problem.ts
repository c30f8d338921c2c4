/** What went wrong, as pages say it: from the errors of GraphQL, of a mutation's union, and of the way to the server. */
import type { CombinedError } from '@urql/core'

export interface Problem {
  /** of the server's catalogue; OFFLINE: it can't be reached */
  code: string
  /** for people; says what they can do */
  message: string
  /** of a ValidationError: what has to be mended, and where */
  issues: readonly { path: readonly string[]; message: string; code: string }[]
  /** of a PreconditionFailedError: what it is at now */
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

/** There is no such thing here, or it is somebody else's. */
export const isNotFound = ({ code }: Problem): boolean => code === 'NOT_FOUND' || code === 'VALIDATION_FAILED'

/** What may be well when it is asked again. */
export const isTransient = ({ code }: Problem): boolean =>
  ['OFFLINE', 'UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL'].includes(code)

/** What is wrong with one field of a form. The `path` of an issue begins with `input`, and names the field next. */
export const fieldError = (wrong: Problem | null, field: string): string | undefined =>
  wrong?.issues.find(({ path }) => path.includes(field))?.message

/** That there is one of this name already names no field: this one. */
export const asFieldError = (field: string, wrong: Problem): Problem =>
  wrong.code === 'ALREADY_EXISTS'
    ? { ...wrong, issues: [{ path: ['input', field], message: wrong.message, code: 'already_exists' }] }
    : wrong

/** What is about none of these fields; null: nothing. */
export function formError(wrong: Problem | null, fields: readonly string[]): string | null {
  if (!wrong) return null
  if (wrong.issues.length === 0) return wrong.message
  return wrong.issues.find(({ path }) => !fields.some((field) => path.includes(field)))?.message ?? null
}
