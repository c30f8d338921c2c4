/**
 * Messages between a server and a supervisor: one JSON object per line, over a Unix socket. `hello`, `end` and their
 * answers never change between versions, so that any server can replace any supervisor (README.md).
 */
import type { AgentRestart, Health, Progress, Reason } from '../../../domain/protocol/protocol.ts'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import type { Bounds, DoorProgram } from '../door/messages.ts'
import type { Confinement } from '../isolation/confinement.ts'
import type { ResourceLimits } from '../isolation/resource-limits.ts'

/** A server speaks this version and the one before. Version 2 adds `healthPath` to plans. */
export const PROTOCOL = 2

/** Configuration of a supervisor: one JSON line on its standard input. */
export interface SupervisorConfig {
  deploymentId: string
  /** id of the installation, as the database has it */
  installation: string
  /** absolute; 0700: `lock`, `fence` (the newest token) and, unless its path would be too long, the socket */
  folder: string
  /** absolute path of the socket; at most 103 bytes */
  socket: string
  /** secret of the DATA_DIR; every client must send it */
  secret: string
  /** absolute; the agent's output is written to files in it */
  outputFolder: string
  output: OutputSettings
  /** inclusive range of ports for addresses; agents never get one of them */
  appPorts: readonly [low: number, high: number]
  /** how to start the door when none runs */
  door: DoorProgram
  /** hours without a server after which it ends its agent and itself */
  orphanHours: number
  /** seconds that a replaced agent has to finish its requests and runs, unless its plan says otherwise */
  drainSeconds: number
}

export interface OutputSettings {
  /** bytes of one file, and the number of files kept */
  fileBytes: number
  files: number
  /** limit of lines; the output replaces lines above it with their count */
  linesPerSecond: number
}

/** Describes how to start the agent of one revision. The supervisor repeats it after each crash, without a server. */
export interface AgentPlan {
  /** identifies one deploy, also of the same revision: `<revision id>.<attempt>` */
  key: string
  revisionId: string
  attempt: number
  /** name of the artifact; empty for an image */
  artifact: string
  program: BuiltProgram | ImageProgram
  /** without PORT and the variables that the run folder determines */
  env: Record<string, string>
  /** path of health checks; default: /ok (servers of earlier versions send none) */
  healthPath?: string
  /** seconds that it has to finish its requests and runs when it is replaced; default: the supervisor's `drainSeconds` */
  graceSeconds?: number
  /** null: our own */
  account: Account | null
  /** secret values to mask in output and messages */
  hidden: string[]
  bounds: ResourceLimits
}

/** A start script in a copy of an artifact. */
export interface BuiltProgram {
  kind: 'built'
  /** absolute path of the build result; read-only */
  tree: string
  /** below the tree: where the script starts */
  folder: string
  /** absolute path; each start makes its own folder below it */
  runs: string
  /** absolute: for temporary files; empty at each start */
  temporary: string
  prestart: string | null
  start: string
  /** default: none (servers of earlier versions send none) */
  confinement?: Confinement
}

/** An image that the engine's client runs in the foreground. */
export interface ImageProgram {
  kind: 'image'
  /** program of the engine */
  engine: string
  /** of the engine's client; its own account is ours */
  clientEnv: Record<string, string>
  /** name of the container: at most one of this name is there */
  container: string
  /** arguments after `run`; the image is the last */
  args: string[]
  /** path (mode 0600) and text of a file that exists only during a start */
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

/** A request. Each gets one Answer, and all can be repeated safely. */
export type Request = { id: number; token: string } & (
  | {
      verb: 'open'
      port: number
      bindAddress: string
      /** of an address that shares its port (Place in ../door/messages.ts); absent: the port is the deployment's own */
      name?: string
      hosts?: string[]
      tls?: boolean
      /** how to start the door from now on; default: unchanged (servers of earlier versions send none) */
      door?: DoorProgram
      /** default: unchanged (servers of earlier versions send none) */
      bounds?: Bounds
      /** for supervisors of earlier versions, which have a network process each: absolute path of Node */
      node?: string
    }
  /** Serves this plan. If its key serves already, the plan applies from the next start. null: serves nothing. */
  | { verb: 'run'; plan: AgentPlan | null }
  /** Starts a candidate and ends any other one. Answered when it is ready. `ms`: time limit. */
  | { verb: 'prepare'; plan: AgentPlan; ms: number }
  /** New requests wait, for at most 10 s, until `switch` or `discard`. */
  | { verb: 'hold'; key: string }
  /** The candidate serves from now on. The agent before it drains. */
  | { verb: 'switch'; key: string }
  /** Ends the candidate. Waiting requests go to the serving agent. */
  | { verb: 'discard'; key: string }
  /** Ends all agents and the supervisor. Requests in flight have `drainMs`. Answered when all agents have ended. */
  | { verb: 'end'; drainMs: number }
)

export type Answer =
  | { id: number; ok: true }
  | {
      id: number
      ok: false
      /** `stale`: see Welcome. `failed`: see `reason` and `message`. `gone`: the candidate does not exist (any more) */
      refused: 'stale' | 'failed' | 'gone'
      newest?: string
      reason?: Reason
      message?: string
      /** the artifact does not exist any more */
      artifactLost?: boolean
    }

/** An event that the supervisor sends without a request. */
export type SupervisorEvent =
  | { say: 'state'; state: State }
  /** progress of the `prepare` with this id */
  | { say: 'progress'; id: number; progress: Progress | null }
  /** the output files have new lines */
  | { say: 'output' }
  /** another connection has sent a newer token: all requests of this one will be refused */
  | { say: 'stale'; newest: string }

export interface State {
  /** null: the address is not open */
  port: number | null
  serving: SupervisedAgent | null
  candidate: SupervisedAgent | null
  /** replaced agents that drain */
  retired: SupervisedAgent[]
  /** health of the serving agent; null: nothing should serve */
  health: Health | null
  /** restarts of agents that ended by themselves: the newest, oldest first; absent: supervisors of earlier versions */
  restarts?: AgentRestart[]
}

export interface SupervisedAgent {
  key: string
  revisionId: string
  artifact: string
  /** name of the container of an image; null: not an image */
  container: string | null
  /** of its process group; null: not running */
  pid: number | null
}
