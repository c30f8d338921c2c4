/** How a call to an address that the server does not trust failed. Messages contain no part of a request or an answer. */

/** Says how a call failed, which decides whether to repeat it. */
export type FailureKind =
  /** nothing was sent: the address is not allowed, not resolvable or not reachable */
  | 'unreachable'
  /** no complete answer arrived, so the effect at the server is unknown */
  | 'unanswered'
  /** the answer has no usable form: a 5xx, a redirect or HTML */
  | 'unusable'
  /** the server understood and refused the request, with the code `error` */
  | 'refused'

/** `message`: a clause such as "answered 503". It quotes at most a plain error code of the server. */
export class OutboundFailure extends Error {
  readonly kind: FailureKind
  /** the error code of the answer, such as `invalid_grant`, if it is well-formed */
  readonly error: string | null
  constructor(kind: FailureKind, message: string, error: string | null = null) {
    super(message)
    this.name = 'OutboundFailure'
    this.kind = kind
    this.error = error
  }
}

/** Describes any error as a clause. Other errors show only their name, because their message may contain a token. */
export function clauseOf(error: unknown): string {
  return error instanceof OutboundFailure ? error.message : `could not be called (${(error as Error).name})`
}

/** The address itself is wrong, so a retry is useless. */
export class WrongAddressFailure extends OutboundFailure {
  constructor(message: string) {
    super('unreachable', message)
  }
}

const UNREACHABLE: Record<string, string> = {
  EAI_AGAIN: 'has a host name that cannot be resolved now',
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'cut the connection before anything was sent',
  ETIMEDOUT: 'could not be reached in time',
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  UND_ERR_INVALID_ARG: 'cannot be asked: there are characters in the request that must not be sent',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
}

const UNTRUSTED = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/
const NO_TLS = /^(EPROTO|ERR_SSL_|ERR_TLS_)/

const UNANSWERED: Record<string, string> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'sent an answer that is too large',
  ERR_BUFFER_TOO_LARGE: 'sent an answer that is too large',
  UND_ERR_HEADERS_OVERFLOW: 'sent an answer that is too large',
  UND_ERR_SOCKET: 'cut the connection before its answer was complete',
  ECONNRESET: 'cut the connection before its answer was complete',
  EPIPE: 'cut the connection before its answer was complete',
}

/** Describes a network error. Only its code is used. `connected`: whether the connection became writable. */
export function toNetworkFailure(error: unknown, connected: boolean): OutboundFailure {
  if (error instanceof OutboundFailure) return error
  const code = codeOf(error)
  if (connected)
    return new OutboundFailure('unanswered', UNANSWERED[code] ?? `sent an answer that cannot be read (${code})`)
  if (code === 'ENOTFOUND') return new WrongAddressFailure('has a host name that is not known')
  return new OutboundFailure('unreachable', UNREACHABLE[code] ?? describeCode(code))
}

function describeCode(code: string): string {
  if (UNTRUSTED.test(code)) return `has a certificate that is not trusted (${code})`
  if (NO_TLS.test(code)) return `has no working TLS (${code})`
  return `cannot be reached (${code})`
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^[A-Z][A-Z0-9_]+$/.test(code) ? code : 'no further details'
}
