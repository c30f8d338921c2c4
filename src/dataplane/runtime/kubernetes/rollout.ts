/**
 * Waits until what is wished is rolled out, looking at every change and whenever a problem has lasted too long.
 */
import { StepFailure } from '../../failure.ts'
import type { Mask } from '../../mask.ts'
import type { Bell } from './bell.ts'
import type { Cluster } from './cluster/cluster.ts'
import { componentOf } from './component.ts'
import { judge } from './judge.ts'
import type { Keeper } from './keeper.ts'
import { withOutput } from './output.ts'
import { Patience } from './patience.ts'
import { isGoing, type Problem } from './pod-problems.ts'
import { askWarnings, type Stuck, stuckOf } from './unseen.ts'

export interface Rollout {
  cluster: Cluster
  deploymentId: string
  keeper: Keeper
  /** rings when the cluster or the keeper may have changed */
  bell: Bell
  /** when it has failed, whatever it is doing */
  deadlineAt: Date
  failAfterMs: number
  /** for what containers have printed */
  mask: Mask
  /** told what it waits for, when that has changed, at most once a second: most of it passes in a moment */
  onWaiting: (message: string) => void
}

interface View {
  done: boolean
  waiting: string
  problems: Problem[]
  stuck: Stuck[]
  /** output of a container that runs and does not get ready */
  output?: Problem['output']
}

/** ms until it is said what it waits for, and again until it is said that this has changed */
const TELL_MS = 1000

/** Resolves when all of it is ready and nothing older is left; throws StepFailure, or the signal's reason. */
export async function rolledOut(rollout: Rollout, signal: AbortSignal): Promise<void> {
  const { cluster, bell, deadlineAt, failAfterMs, mask, onWaiting } = rollout
  const patience = new Patience()
  let warned: Problem[] = []
  let told = ''
  const begun = performance.now()
  let toldAt = begun
  let askedAt: number | null = null
  for (;;) {
    signal.throwIfAborted()
    const { done, waiting, problems, stuck, output } = look(rollout)
    if (done) return
    const now = performance.now()
    const tellIn = waiting === told ? null : toldAt + TELL_MS - now
    if (tellIn !== null && tellIn <= 0) {
      onWaiting(waiting)
      told = waiting
      toldAt = now
    }
    const silent = problems.length === 0 ? stuck : []
    const askAt = askedAt === null ? begun + Math.min(...silent.map(({ quietMs }) => quietMs)) : askedAt + failAfterMs
    if (silent.length > 0 && now >= askAt) {
      warned = await askWarnings(cluster, silent)
      askedAt = performance.now()
      continue
    }
    const unseen = warned.filter(({ key }) => stuck.some(({ uid }) => key === `${uid}/warning`))
    const { failed, againInMs } = patience.look([...problems, ...unseen], now)
    if (failed)
      throw new StepFailure(failed.reason, await withOutput(cluster, failed.message, failed.output, mask, signal))
    const left = deadlineAt.getTime() - Date.now()
    if (left <= 0) {
      const reason = [...problems, ...unseen][0]?.reason ?? 'HEALTH_CHECK_TIMED_OUT'
      const why = [`It was not ready in time. ${waiting}`, ...[...problems, ...unseen].map(({ message }) => message)]
      throw new StepFailure(reason, await withOutput(cluster, why.join('\n'), output, mask, signal))
    }
    const asking = silent.length > 0 ? askAt - now : left
    const telling = tellIn !== null && tellIn > 0 ? tellIn : left
    await bell.wait(Math.max(1, Math.min(left, againInMs ?? left, asking, telling)), signal)
  }
}

function look({ cluster, deploymentId, keeper, failAfterMs }: Rollout): View {
  const view: View = { done: false, waiting: '', problems: [], stuck: [] }
  const { ended, trouble, inForce } = keeper
  if (ended)
    throw new StepFailure('WORKER_LOST', `This holder of the deployment may not write any more: ${ended.message}`)
  if (trouble?.refused)
    view.problems.push({ key: 'refused', reason: 'CLUSTER_REFUSED', message: trouble.message, graceMs: 0 })
  if (!inForce) return { ...view, waiting: trouble?.message ?? 'Its manifests are being applied' }
  const objects = cluster.objects(deploymentId)
  const pods = cluster.pods(deploymentId)
  const waiting: string[] = []
  for (const { key, generation, workload: of } of keeper.applied) {
    if (!of) continue
    const workload = objects.find(({ kind, metadata }) => `${kind}/${metadata.name}` === key)
    const its = pods.filter((pod) => componentOf(pod) === of.component)
    const judgement = judge({ ...of, workload, generation, pods: its, unschedulableMs: failAfterMs })
    if (judgement.done) continue
    waiting.push(judgement.waiting)
    view.problems.push(...judgement.problems)
    view.output ??= outputOf(judgement.unready)
    if (workload && judgement.problems.length === 0)
      view.stuck.push(
        ...stuckOf(
          of.component,
          workload,
          judgement.unready,
          its.filter((pod) => !isGoing(pod)),
          failAfterMs,
        ),
      )
  }
  return { ...view, done: waiting.length === 0, waiting: `Waiting for ${waiting.join(', ')}` }
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
