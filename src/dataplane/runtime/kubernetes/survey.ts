/**
 * Looks at all that was applied of a deployment at once: is it rolled out, and if not, what does it wait for and what is
 * wrong? Pure but for what it looks at; a rollout asks it at every change, and health with every heartbeat.
 */
import type { Progress } from '../../../domain/work/protocol.ts'
import type { Applied } from './applied.ts'
import type { Cluster } from './cluster/cluster.ts'
import { componentOf } from './component.ts'
import { judge } from './judge.ts'
import type { Keeper } from './keeper.ts'
import { isGoing, type Problem } from './pod-problems.ts'
import type { LiveObject } from './types.ts'
import { unreachedServices } from './unreached.ts'
import { type Stuck, stuckOf } from './unseen.ts'

/** What is looked at. */
export interface Site {
  cluster: Cluster
  deploymentId: string
  namespace: string
  keeper: Keeper
  failAfterMs: number
}

export interface View {
  done: boolean
  /** what it waits for, the most telling first; only of use when it is not done */
  wait: Progress
  problems: Problem[]
  stuck: Stuck[]
  /** output of a container that runs and does not get ready */
  output?: Problem['output']
}

type Workload = { key: Applied['key']; generation: number; workload: NonNullable<Applied['workload']> }

const APPLYING: Progress = { reason: 'ROLLING_OUT', message: 'Its manifests are being applied' }

export function survey(site: Site): View {
  const { cluster, keeper } = site
  const { ended, trouble, inForce } = keeper
  const view: View = { done: false, wait: trouble ?? APPLYING, problems: [], stuck: [] }
  if (ended) view.problems.push({ key: 'ended', ...lostTo(ended), graceMs: 0 })
  else if (trouble?.refused) view.problems.push({ key: 'refused', ...trouble, graceMs: 0 })
  const away = cluster.problem()
  if (away !== null) view.wait = { reason: 'CLUSTER_UNREACHABLE', message: away }
  if (ended || !inForce) return view
  const found = workloads(site, keeper.applied.filter(isWorkload))
  if (away !== null) return { ...found, wait: view.wait }
  const { fight } = keeper
  return fight ? { ...found, wait: { ...fight, message: `${fight.message} ${found.wait.message}` } } : found
}

/** Who writes no more says so: another holder is newer, or somebody has written its token on an object by hand. */
export function lostTo(ended: Error): Progress {
  return { reason: 'WORKER_LOST', message: `This holder of the deployment may not write any more: ${ended.message}` }
}

/** The same of given workloads alone, whatever the keeper is doing. */
export function workloads(site: Omit<Site, 'keeper'>, applied: readonly Workload[]): View {
  const { cluster, deploymentId, namespace, failAfterMs } = site
  const objects = cluster.objects(deploymentId)
  const pods = cluster.pods(deploymentId)
  const waits: Progress[] = []
  const view: View = { done: false, wait: APPLYING, problems: [], stuck: [] }
  for (const { key, generation, workload: of } of applied) {
    const workload = objects.find(({ kind, metadata }) => `${kind}/${metadata.name}` === key)
    const its = pods.filter((pod) => componentOf(pod) === of.component)
    const judgement = judge({ ...of, workload, generation, pods: its, unschedulableMs: failAfterMs })
    if (judgement.done) continue
    waits.push(judgement.wait)
    view.problems.push(...judgement.problems)
    view.output ??= outputOf(judgement.unready)
    if (!workload || judgement.problems.length > 0) continue
    const staying = its.filter((pod) => !isGoing(pod))
    view.stuck.push(...stuckOf(of.component, workload, judgement.unready, staying, failAfterMs))
  }
  if (waits.length === 0)
    for (const { reason, message } of unreachedServices(objects, pods, cluster.endpoints(namespace, deploymentId)))
      waits.push({ reason, message })
  return { ...view, done: waits.length === 0, wait: together(waits) }
}

/** Objects that are wished and on their way out: they can only be made anew when they are gone. */
export function going(objects: readonly LiveObject[], applied: readonly Applied[]): Progress | null {
  const keys = new Set(applied.map(({ key }) => key))
  const names = objects
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    .filter((key) => keys.has(key))
  if (names.length === 0) return null
  const message = `Somebody has deleted ${names.join(', ')}: it is still on its way out, and is made anew when it is gone.`
  return { reason: 'CHANGED_BY_OTHERS', message }
}

const isWorkload = (applied: Applied): applied is Applied & Workload => applied.workload !== null

/** One message of all; the reason of the first, below which the others are: no agent starts before its database. */
function together(waits: readonly Progress[]): Progress {
  const [first = APPLYING] = waits
  return { reason: first.reason, message: `Waiting for ${waits.map(({ message }) => message).join(', ')}` }
}

function outputOf(unready: ReturnType<typeof judge>['unready']): Problem['output'] {
  for (const { metadata, status } of unready) {
    const running = status?.containerStatuses?.find(({ ready, state }) => !ready && state?.running)
    if (running)
      return {
        namespace: metadata?.namespace ?? '',
        pod: metadata?.name ?? '',
        container: running.name,
        previous: false,
        running: true,
      }
  }
  return undefined
}
