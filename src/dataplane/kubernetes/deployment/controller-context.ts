/** State that the controllers of all deployments share. */
import type { Logger } from 'pino'
import type { NotifierControl } from '../../../platform/async/notifier.ts'
import type { QueueBacklogs } from '../../runtimes/queue-backlogs.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { RenderOptions } from '../objects/types.ts'
import type { RestartLimit } from '../rollout/infrastructure-restarts.ts'
import type { LogFollower } from './log-follower.ts'

export interface ControllerContext {
  cluster: Cluster
  /** notified with a deployment's id when its objects or its reconciler change */
  changes: NotifierControl
  follower: LogFollower
  render: RenderOptions
  restarts: RestartLimit
  queues: QueueBacklogs
  failAfterMs: number
  log: Logger
}
