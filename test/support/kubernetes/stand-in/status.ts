/** Errors of the API server, as Status objects. */
import { type Kind, qualified } from './kinds.ts'
import type { Json } from './objects.ts'

export class ApiError extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }

  get status(): Json {
    const { code, reason, message } = this
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  }
}

export const notFound = (kind: Kind, name: string) =>
  new ApiError(404, 'NotFound', `${qualified(kind)} "${name}" not found`)

export const alreadyExists = (kind: Kind, name: string) =>
  new ApiError(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`)

export const conflict = (kind: Kind, name: string, why: string) =>
  new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`)

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message)

export function forbidden(kind: Kind, name: string, why: string): ApiError {
  const subject = name ? `${qualified(kind)} "${name}"` : qualified(kind)
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`)
}

/** 422 with all mistakes: a single one without brackets, several in brackets. */
export function invalid(kind: Kind, name: string, mistakes: string[]): ApiError {
  const text = mistakes.length === 1 ? mistakes[0] : `[${mistakes.join(', ')}]`
  const subject = `${kind.kind}${kind.group ? `.${kind.group}` : ''} "${name}"`
  return new ApiError(422, 'Invalid', `${subject} is invalid: ${text}`)
}
