/** Errors of REST and GraphQL (docs/api-rules.md#errors). Any other error is masked as INTERNAL and logged once. */

/** code → HTTP status, and whether the same call may succeed when repeated. */
export const CATALOGUE = {
  MALFORMED_REQUEST: { status: 400, retryable: false },
  UNAUTHENTICATED: { status: 401, retryable: false },
  FORBIDDEN: { status: 403, retryable: false },
  TENANT_REQUIRED: { status: 403, retryable: false },
  PLAN_REQUIRED: { status: 403, retryable: false },
  NOT_REDEPLOYABLE: { status: 400, retryable: false },
  NOT_FOUND: { status: 404, retryable: false },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false },
  REQUEST_TIMEOUT: { status: 408, retryable: true },
  CONFLICT: { status: 409, retryable: false },
  ALREADY_EXISTS: { status: 409, retryable: false },
  AUTHORIZATION_FAILED: { status: 409, retryable: false },
  CONNECTION_REQUIRED: { status: 409, retryable: false },
  TOKEN_EXPIRED: { status: 409, retryable: false },
  CLAIM_LOST: { status: 409, retryable: false },
  IDEMPOTENCY_IN_FLIGHT: { status: 409, retryable: true },
  ALREADY_SHOWN: { status: 409, retryable: false },
  GONE: { status: 410, retryable: false },
  PRECONDITION_FAILED: { status: 412, retryable: false },
  PAYLOAD_TOO_LARGE: { status: 413, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false },
  EXPECTATION_FAILED: { status: 417, retryable: false },
  VALIDATION_FAILED: { status: 422, retryable: false },
  RATE_LIMITED: { status: 429, retryable: true },
  HEADERS_TOO_LARGE: { status: 431, retryable: false },
  GITPROVIDER_UNAVAILABLE: { status: 502, retryable: true },
  OAUTH_PROVIDER_UNAVAILABLE: { status: 502, retryable: true },
  STREAM_OVERFLOW: { status: 503, retryable: true },
  UNAVAILABLE: { status: 503, retryable: true },
  OUTCOME_UNKNOWN: { status: 503, retryable: false },
  INTERNAL: { status: 500, retryable: false },
} as const satisfies Record<string, { status: number; retryable: boolean }>

export type ErrorCode = keyof typeof CATALOGUE

export interface DomainErrorOptions {
  /** whole seconds until a retry may succeed: `Retry-After`, in GraphQL `extensions.retryAfter` */
  retryAfterSeconds?: number
  /** logged, never shown */
  cause?: unknown
}

/** An error that callers see. `message` says what happened and what to do. */
export class DomainError extends Error {
  readonly code: ErrorCode
  readonly retryAfterSeconds: number | undefined
  constructor(code: ErrorCode, message: string, { retryAfterSeconds, cause }: DomainErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
  get status(): number {
    return CATALOGUE[this.code].status
  }
}

export class UnauthenticatedError extends DomainError {
  constructor(message = 'A valid API key is required: send it in the X-Api-Key header.') {
    super('UNAUTHENTICATED', message)
  }
}

export class ForbiddenError extends DomainError {
  constructor(message: string, code: 'FORBIDDEN' | 'TENANT_REQUIRED' | 'PLAN_REQUIRED' = 'FORBIDDEN') {
    super(code, message)
  }
}

export class NotFoundError extends DomainError {
  /** «Deployment ID … not found.» (docs/api-rules.md#errors) */
  constructor(kind: string, id: string, message = `${kind} ID ${id} not found.`) {
    super('NOT_FOUND', message)
  }
}

type ConflictCode = 'CONFLICT' | 'ALREADY_EXISTS' | 'AUTHORIZATION_FAILED' | 'CONNECTION_REQUIRED' | 'TOKEN_EXPIRED'

export class ConflictError extends DomainError {
  constructor(message: string, code: ConflictCode = 'CONFLICT') {
    super(code, message)
  }
}

/** The revision cannot be redeployed. Only this violation of a rule is a 400 (docs/api-rules.md#errors). */
export class NotRedeployableError extends DomainError {
  constructor(message: string) {
    super('NOT_REDEPLOYABLE', message)
  }
}

/** The resource's version differs from the one that the write requires. Nothing was changed. */
export class PreconditionFailedError extends DomainError {
  readonly version: number
  constructor(kind: string, id: string, version: number) {
    super(
      'PRECONDITION_FAILED',
      `${kind} ID ${id} was changed in the meantime and is now at version ${version}. Read it again, then repeat the write.`,
    )
    this.version = version
  }
}

/** The caller's lease ended or its fencing token is outdated. Nothing was changed. */
export class ClaimLostError extends DomainError {
  constructor() {
    super('CLAIM_LOST', 'The claim ended or belongs to another holder. Stop its work.')
  }
}

/** One mistake in the caller's input (docs/api-rules.md#errors). */
export interface Violation {
  /** begins with `path`, `query`, `body` or `header`; then the field's path in snake_case */
  loc: (string | number)[]
  msg: string
  /** a stable code: `missing`, `uuid_parsing`, `less_than_equal`, `value_error`, … */
  type: string
}

export class ValidationError extends DomainError {
  readonly violations: Violation[]
  constructor(violations: Violation[]) {
    super('VALIDATION_FAILED', violations.map((v) => `${v.loc.join('.')}: ${v.msg}`).join('; '))
    this.violations = violations
  }
}

export function rejectIfAny(violations: Violation[]): void {
  if (violations.length > 0) throw new ValidationError(violations)
}

export type IfMatch = readonly number[] | undefined // absent: any version

/** Throws PreconditionFailedError. `kind`, `id`: as in NotFoundError. */
export function requireVersion(
  ifMatch: IfMatch,
  kind: string,
  id: string,
  { editVersion }: { editVersion: number },
): void {
  if (ifMatch && !ifMatch.includes(editVersion)) throw new PreconditionFailedError(kind, id, editVersion)
}
