/**
 * What a server and the supervisor of one deployment say to each other, over a Unix socket: a line of JSON each. The server
 * asks, the supervisor answers under the same `id`; between the answers it says what has changed (`Said`).
 *
 * Every connection begins with Hello, which proves who is there: the secret of the DATA_DIR, the installation, and the
 * fencing token of the claim. The supervisor obeys only a token that is not older than the newest it has seen, on whatever
 * connection. `hello`, `end` and their answers never change between versions, so that any server can replace any supervisor.
 */
import type { Health, Progress, Reason } from '../../../../domain/protocol/protocol.ts'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { Confinement } from '../processes/confinement.ts'
import type { ResourceLimits } from '../processes/resource-limits.ts'

/** A server speaks this one and the one before. 2: plans have a `healthPath`. */
export const PROTOCOL = 2

/** What a supervisor is started with: one line on its standard input. */
export interface SupervisorConfig {
  deploymentId: string
  /** id of the installation, as the database has it */
  installation: string
  /** absolute; 0700: `lock`, `fence` (the newest token) and, unless its path would be too long, the socket */
  folder: string
  /** absolute path of the socket; at most 103 bytes */
  socket: string
  /** of the DATA_DIR; whoever connects has to know it */
  secret: string
  /** absolute; the agent's output is written to files in it */
  outputFolder: string
  output: OutputSettings
  /** inclusive; agents are given none of these ports, which are for addresses */
  appPorts: readonly [low: number, high: number]
  /** the account of what parses HTTP; null: our own */
  networkAccount: Account | null
  /** hours without a server after which it ends its agent and itself */
  orphanHours: number
  /** seconds that a replaced agent has for what it still answers */
  drainSeconds: number
}

export interface OutputSettings {
  /** bytes of one file, and how many of them are kept */
  fileBytes: number
  files: number
  /** lines; what is printed beyond is left out, and it is said how many */
  linesPerSecond: number
}

/** One revision's agent, as the supervisor starts it: again after each crash, without a server. */
export interface AgentPlan {
  /** tells one deploy from another, also of the same revision: `<revision id>.<attempt>` */
  key: string
  revisionId: string
  attempt: number
  /** name of the artifact; empty for an image */
  artifact: string
  program: BuiltProgram | ImageProgram
  /** without PORT and what depends on where it runs */
  env: Record<string, string>
  /** requested by health checks; default, and of a server of an earlier version: /ok */
  healthPath?: string
  /** null: our own */
  account: Account | null
  /** texts that are never shown */
  hidden: string[]
  bounds: ResourceLimits
}

/** A start script in a copy of an artifact. */
export interface BuiltProgram {
  kind: 'built'
  /** absolute: what was built, which no run may change */
  tree: string
  /** below the tree: where the script starts */
  folder: string
  /** absolute: each start gets a folder of its own in it */
  runs: string
  /** absolute: for temporary files; empty at each start */
  temporary: string
  prestart: string | null
  start: string
  /** default, of a server of an earlier version: none */
  confinement?: Confinement
}

/** An image, run by an engine's client in the foreground. */
export interface ImageProgram {
  kind: 'image'
  /** program of the engine */
  engine: string
  /** of the engine's client; its own account is ours */
  clientEnv: Record<string, string>
  /** name of the container: at most one of this name is there */
  container: string
  /** what comes behind `run`, the image at the end */
  args: string[]
  /** a file (0600) that is there while a start needs it, and its text */
  envFile: { path: string; text: string }
}

/** The first line of every connection. */
export interface Hello {
  verb: 'hello'
  /** the newest that the server speaks */
  protocol: number
  secret: string
  installation: string
  deploymentId: string
  /** decimal, as in the claim */
  token: string
}

export type Welcome =
  | { ok: true; protocol: number /** of the program: hash of its bundle */; build: string; pid: number; state: State }
  | {
      ok: false
      /** `stale`: the token is older than `newest` */
      refused: 'secret' | 'installation' | 'stale'
      newest?: string
    }

/** Each is answered by Answer. All of them can be repeated. */
export type Request = { id: number; token: string } & (
  | {
      verb: 'open'
      port: number
      bindAddress: string
      /** absolute: what the network process is run by when it is started again; default: as before */
      node?: string
    }
  /** Makes this what serves; where it does already, the plan counts from the next start on. null: nothing is to serve. */
  | { verb: 'run'; plan: AgentPlan | null }
  /** Starts a candidate, and ends any other one; answered when it is ready. `ms`: then it is too late. */
  | { verb: 'prepare'; plan: AgentPlan; ms: number }
  /** New requests wait, for at most 10 s, until `switch` or `discard`. */
  | { verb: 'hold'; key: string }
  /** The candidate serves from now on; the one before drains. */
  | { verb: 'switch'; key: string }
  /** Ends the candidate; who waits goes to what serves. */
  | { verb: 'discard'; key: string }
  /** Ends everything and the supervisor itself. Requests in flight have `drainMs`. Answered when nothing is left. */
  | { verb: 'end'; drainMs: number }
)

export type Answer =
  | { id: number; ok: true }
  | {
      id: number
      ok: false
      /** `stale`: see Welcome. `failed`: for people, see `reason`. `gone`: there is no such candidate (any more) */
      refused: 'stale' | 'failed' | 'gone'
      newest?: string
      reason?: Reason
      message?: string
      /** what was built is not there any more */
      artifactLost?: boolean
    }

/** Said unasked. */
export type Said =
  | { say: 'state'; state: State }
  /** of the `prepare` with this id */
  | { say: 'progress'; id: number; progress: Progress | null }
  /** there is more output in its files */
  | { say: 'output' }
  /** a newer token was seen: whatever this connection asks will be refused */
  | { say: 'stale'; newest: string }

export interface State {
  /** null: the address is not open */
  port: number | null
  serving: SupervisedAgent | null
  candidate: SupervisedAgent | null
  /** that drain */
  retired: SupervisedAgent[]
  /** of what serves; null: nothing is to serve */
  health: Health | null
}

export interface SupervisedAgent {
  key: string
  revisionId: string
  artifact: string
  /** of an image, the name of its container */
  container: string | null
  /** of its process group; null: it does not run at the moment */
  pid: number | null
}
