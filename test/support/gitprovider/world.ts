/** The state of the git provider's stand-in: repositories, installations, tokens, statuses, failures, calls. */
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

export interface FakeRepository {
  id: number
  owner: string
  name: string
  fullName: string
  archived: boolean
  private: boolean
  defaultBranch: string
  /** Path of the bare repository; null: listed, but without one on disk. */
  directory: string | null
  /** The URL for cloning. */
  url: string
}

export interface FakeInstallation {
  id: number
  account: string
  createdAt: Date
  suspended: boolean
  repositories: FakeRepository[]
  /** Logins of users who may use it. */
  users: string[]
}

export interface FakeStatus {
  id: number
  state: string
  context: string
  description: string | null
  targetUrl: string | null
  at: Date
}

export interface FakeToken {
  installation: FakeInstallation
  /** ids; null: all of the installation. */
  repositories: number[] | null
  permissions: Record<string, string>
  expiresAt: Date
}

/** One received request. */
export interface Call {
  method: string
  /** Path below the API's URL, with the query. */
  path: string
  status: number
  startedAt: number
  endedAt: number
}

/** `down`: connections are closed; `slow`: requests get no answer. */
export type Outage = 'down' | '500' | 'html' | 'slow' | null

export interface World {
  readonly appId: number
  readonly slug: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly webhookSecret: string
  readonly clientId: string
  readonly clientSecret: string
  webUrl: string
  apiUrl: string
  repositories: Map<string, FakeRepository>
  /** By the full name that the repository had before. */
  renamed: Map<string, FakeRepository>
  installations: Map<number, FakeInstallation>
  tokens: Map<string, FakeToken>
  /** By `owner/name@sha`. */
  statuses: Map<string, FakeStatus[]>
  /** One-time OAuth codes and the users' tokens from them, by login. */
  codes: Map<string, string>
  userTokens: Map<string, string>
  calls: Call[]
  outage: Outage
  /** Requests left before the rate limit; null: no limit. */
  remaining: number | null
  resetAt: Date
  /** The Retry-After of a secondary limit for the next request of an installation. */
  secondary: number | null
  /** Delay of the API, so that tests can see concurrency. */
  latency: number
  /** Calls that are held until this many have arrived. */
  meeting: { path: RegExp; missing: number; met: Promise<void>; meet(): void } | null
}

// unique across the stand-ins of one process, because the client's libraries store pending tokens by this id
let last = 50_000_000
export const newId = () => ++last

export function newWorld(): World {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    appId: newId(),
    slug: 'pilothouse-test',
    privateKey,
    publicKey,
    webhookSecret: `whsec-${randomBytes(16).toString('hex')}`,
    clientId: `Iv1.${randomBytes(8).toString('hex')}`,
    clientSecret: randomBytes(20).toString('hex'),
    webUrl: '',
    apiUrl: '',
    repositories: new Map(),
    renamed: new Map(),
    installations: new Map(),
    tokens: new Map(),
    statuses: new Map(),
    codes: new Map(),
    userTokens: new Map(),
    calls: [],
    outage: null,
    remaining: null,
    resetAt: new Date(Date.now() + 3_600_000),
    secondary: null,
    latency: 0,
    meeting: null,
  }
}
