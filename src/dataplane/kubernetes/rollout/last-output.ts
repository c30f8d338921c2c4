/** Adds a container's last output to the message of a failure. */
import { withTimeout } from '../../../platform/async/time-limit.ts'
import { createLineRenderer, OutputTail } from '../../output/lines.ts'
import type { Mask } from '../../output/mask.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Problem } from './pod-problems.ts'

const MAX_LINES = 10
/** ms, so that the message is not delayed */
const READ_TIMEOUT_MS = 3000
/** ms, because the log of a running container does not end */
const RUNNING_READ_TIMEOUT_MS = 1000

export async function withLastOutput(
  cluster: Cluster,
  headline: string,
  output: Problem['output'],
  mask: Mask,
  signal: AbortSignal,
): Promise<string> {
  if (!output) return headline
  const { namespace, pod, container, previous, running } = output
  const tail = new OutputTail(MAX_LINES)
  const show = createLineRenderer(mask)
  const follow = (inTime: AbortSignal) =>
    cluster.followLog(
      { namespace, name: pod },
      container,
      { tailLines: MAX_LINES, ...(previous ? { previous } : {}) },
      (line) => tail.add(show(line).text),
      inTime,
    )
  // without permission to read logs, or without the pod, only the headline is shown
  await withTimeout(running ? RUNNING_READ_TIMEOUT_MS : READ_TIMEOUT_MS, signal, follow).catch(() => undefined)
  return tail.appendToWithCause(headline)
}
