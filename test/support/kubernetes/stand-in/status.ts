/** Errors of the API server: Status objects with code, reason and causes. */
import { type Kind, qualified } from './kinds.ts'
import type { Json } from './objects.ts'

export interface Cause {
  reason: string
  message: string
  field: string
}

export class ApiError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: Json

  constructor(code: number, reason: string, message: string, details?: Json) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
  }

  get status(): Json {
    const { code, reason, message, details } = this
    const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason }
    return { ...body, ...(details ? { details } : {}), code }
  }
}

const about = (kind: Kind, name: string): Json => ({
  ...(name ? { name } : {}),
  ...(kind.group ? { group: kind.group } : {}),
  kind: kind.plural,
})

export const notFound = (kind: Kind, name: string) =>
  new ApiError(404, 'NotFound', `${qualified(kind)} "${name}" not found`, about(kind, name))

export const alreadyExists = (kind: Kind, name: string) =>
  new ApiError(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`, about(kind, name))

export const conflict = (kind: Kind, name: string, why: string) =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`,
    about(kind, name),
  )

export const stale = (kind: Kind, name: string) =>
  conflict(kind, name, 'the object has been modified; please apply your changes to the latest version and try again')

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message)

export function forbidden(kind: Kind, name: string, why: string): ApiError {
  const subject = name ? `${qualified(kind)} "${name}"` : qualified(kind)
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`, about(kind, name))
}

export const gone = (message: string) => new ApiError(410, 'Expired', message)

/** 422 with all mistakes: a single cause without brackets, several in brackets. */
export function invalid(kind: Kind, name: string, causes: Cause[]): ApiError {
  const lines = causes.map(({ field, message }) => `${field}: ${message}`)
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return new ApiError(
    422,
    'Invalid',
    `${kind.kind}${kind.group ? `.${kind.group}` : ''} "${name}" is invalid: ${text}`,
    {
      name,
      ...(kind.group ? { group: kind.group } : {}),
      kind: kind.kind,
      causes,
    },
  )
}
