/** When a rollout is done, what it waits for, and when it has failed: a table of cluster states. */
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import type { LiveObject } from '../../src/dataplane/kubernetes/objects/types.ts'
import { GracePeriods } from '../../src/dataplane/kubernetes/rollout/problem.ts'
import { type WorkloadSnapshot, workloadStatus } from '../../src/dataplane/kubernetes/rollout/workload-status.ts'

const REVISION = 'rev-2'
const ATTEMPT = { revisionId: REVISION, attempt: 1 }
const UNSCHEDULABLE_MS = 30_000

const READY: Partial<V1ContainerStatus> = { ready: true, started: true, state: { running: {} } }

/** A new pod on a node; `agent` is its container's status. */
function pod(agent: Partial<V1ContainerStatus> = READY, change: Partial<V1Pod> = {}, revision = REVISION): V1Pod {
  const status = { name: 'agent', image: 'agent:2', imageID: '', ready: false, restartCount: 0, ...agent }
  return {
    metadata: {
      name: `server-${revision}`,
      uid: `uid-${revision}`,
      namespace: 'agents',
      creationTimestamp: '2026-01-01T00:00:00Z' as unknown as Date,
      labels: { 'pilothouse.dev/revision-id': revision },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }],
      annotations: { 'pilothouse.dev/attempt': '1', 'pilothouse.dev/template': 'hash' },
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'agent', image: 'agent:from-spec' }] },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'Ready', status: status.ready ? 'True' : 'False' },
      ],
      containerStatuses: [status],
    },
    ...change,
  }
}

const DONE = { observedGeneration: 3, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }

const template = { metadata: { annotations: { 'pilothouse.dev/template': 'hash' } } }

function deployment(status: object = DONE, replicas = 1): LiveObject {
  const metadata = { name: 'server', namespace: 'agents', uid: 'd', resourceVersion: '9', generation: 3 }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas, template }, status }
}

function see(pods: V1Pod[], workload: LiveObject | undefined = deployment(), change: Partial<WorkloadSnapshot> = {}) {
  return workloadStatus({
    component: 'server',
    workload,
    generation: 3,
    pods,
    attempt: ATTEMPT,
    unschedulableMs: UNSCHEDULABLE_MS,
    ...change,
  })
}

/** Returns the milliseconds until failure, and its message; null: it never fails. */
function failure(pods: V1Pod[], workload?: LiveObject): { after: number; message: string } | null {
  const grace = new GracePeriods()
  for (let now = 0; ; ) {
    const { failed, againInMs } = grace.check(see(pods, workload).problems, now)
    if (failed) return { after: now, message: failed.message }
    if (againInMs === null) return null
    now += againInMs
  }
}

test('a rollout is done when every replica is new and ready and no old pod is left', () => {
  expect(see([pod()])).toMatchObject({ done: true, problems: [] })
  expect(see([], deployment({ observedGeneration: 3 }, 0)).done).toBe(true)
})

const old = pod(READY, {}, 'rev-1')
const going = { ...old, metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' as unknown as Date } }

const NO_NODE = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulerError' }]

test.each<[string, V1Pod[], LiveObject | undefined, RegExp]>([
  ['no object exists', [], undefined, /being created/],
  [
    'the controller has not seen the change',
    [pod()],
    deployment({ ...DONE, observedGeneration: 2 }),
    /not seen the change/,
  ],
  ['only old pods exist', [old], deployment({ ...DONE, updatedReplicas: 0 }), /no new pod/],
  ['old pods still serve', [pod(), old], deployment({ ...DONE, replicas: 2, readyReplicas: 2 }), /old pods/],
  ['the Deployment still counts old pods', [pod()], deployment({ ...DONE, replicas: 2 }), /old pods/],
  ['one of two is ready', [pod()], deployment({ ...DONE, updatedReplicas: 2, replicas: 2 }, 2), /1 of 2 replicas/],
  [
    'the pod is ready, but not for long enough',
    [pod()],
    deployment({ ...DONE, availableReplicas: 0 }),
    /1 of 1 replicas/,
  ],
  [
    'a pod of the same revision is of an earlier attempt',
    [{ ...pod(), metadata: { ...pod().metadata, annotations: { 'pilothouse.dev/attempt': '0' } } }],
    deployment(),
    /no new pod/,
  ],
  [
    'the container runs and is not ready',
    [pod({ state: { running: {} } })],
    deployment({ ...DONE, readyReplicas: 0 }),
    /0 of 1 replicas are ready; pod server-rev-2 container agent runs, but is not ready/,
  ],
  [
    'an old pod without a controller is left',
    [pod(), { ...old, metadata: { ...old.metadata, ownerReferences: [] } }],
    deployment({ ...DONE, replicas: 1 }),
    /old pod server-rev-1 still serves, and no controller owns it: delete it/,
  ],
])('a rollout is not done while %s', (_, pods, workload, waiting) => {
  const status = workloadStatus({
    component: 'server',
    workload,
    generation: 3,
    pods,
    attempt: ATTEMPT,
    unschedulableMs: 0,
  })
  expect(status).toMatchObject({ done: false, problems: [] })
  expect(status.wait.message).toMatch(waiting)
})

test.each<[string, V1Pod[], string, string]>([
  ['starts', [pod({ state: { running: {} } })], 'server', 'WAITING_FOR_HEALTH'],
  ['pulls its image', [pod({ state: { waiting: { reason: 'ContainerCreating' } } })], 'server', 'PULLING_IMAGE'],
  ['has no node', [pod({ state: {} }, { status: { conditions: NO_NODE } })], 'server', 'UNSCHEDULABLE'],
  ['waits for its database', [pod({ state: { running: {} } })], 'database', 'DATABASE_UNAVAILABLE'],
  ['is replaced', [going], 'server', 'ROLLING_OUT'],
])('a wait has its own reason when a pod %s', (_, pods, component, reason) => {
  const workload = deployment({ ...DONE, readyReplicas: 0 })
  expect(see(pods, workload, { component }).wait.reason).toBe(reason)
})

test('pods of an earlier template of the same revision are old, even if created in the same second', () => {
  const before = pod()
  before.metadata = {
    ...before.metadata,
    annotations: { ...before.metadata?.annotations, 'pilothouse.dev/template': 'x' },
  }
  const both = { ...DONE, replicas: 2, readyReplicas: 2, availableReplicas: 2 }
  expect(see([before], deployment({ ...DONE, updatedReplicas: 0 }))).toMatchObject({
    done: false,
    wait: { message: expect.stringMatching(/no new pod/) },
  })
  expect(see([pod(), before], deployment(both))).toMatchObject({
    done: false,
    wait: { message: expect.stringMatching(/old pods/) },
  })
  expect(see([before], deployment()).done).toBe(false)
  expect(see([pod()]).done).toBe(true)
  // a cache has no revision
  expect(see([before], deployment(), { attempt: null }).done).toBe(false)
})

test('failed pods that were replaced don’t matter', () => {
  expect(see([pod(), failed('one'), failed('two')])).toMatchObject({ done: true, problems: [] })
})

test('terminating old pods don’t delay a rollout', () => {
  expect(see([pod(), going]).done).toBe(true)
})

const NOT_READY = { ...DONE, readyReplicas: 0, availableReplicas: 0 }
const waits = (reason: string, message?: string) => ({
  state: { waiting: { reason, ...(message ? { message } : {}) } },
})
const condition = (type: string, status: string, reason: string, message: string) =>
  deployment({ ...NOT_READY, conditions: [{ type, status, reason, message }] })
const unschedulable = (message: string): V1Pod => ({
  ...pod(),
  spec: { containers: [] },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  },
})
const failed = (name: string, state?: V1ContainerStatus['state']): V1Pod => {
  const made = pod(state ? { state } : {})
  made.metadata = { ...made.metadata, name }
  made.status = state
    ? { ...made.status, phase: 'Failed' }
    : { phase: 'Failed', reason: 'Evicted', message: 'low on disk' }
  return made
}
const exited = (exitCode: number, reason = 'Error') => ({ terminated: { exitCode, reason } })

const waiting = (reason: string, message?: string, change: Partial<V1ContainerStatus> = {}) =>
  pod({ ...waits(reason, message), ...change })
const restarted = (restartCount: number, lastState: V1ContainerStatus['state']) => ({ restartCount, lastState })

test.each<[string, V1Pod[], number, RegExp, LiveObject?]>([
  ['an invalid image', [waiting('InvalidImageName', 'bad reference')], 0, /can't be used, agent:2: bad reference/],
  [
    'an image that is not found',
    [waiting('ErrImagePull', 'not found')],
    5000,
    /The image agent:2 of container agent .* can't be pulled: not found/,
  ],
  [
    'a repeated failure to find the image',
    [waiting('ImagePullBackOff', 'Back-off pulling image')],
    0,
    /can't be pulled/,
  ],
  ['a missing key', [waiting('CreateContainerConfigError', 'secret "x" not found')], 5000, /secret "x" not found/],
  [
    'a crash loop',
    [waiting('CrashLoopBackOff', undefined, restarted(1, exited(3)))],
    0,
    /keeps crashing: it exited with code 3$/,
  ],
  [
    'repeated crashes after running for a while',
    [pod({ state: { running: {} }, ...restarted(2, exited(1)) })],
    0,
    /keeps crashing/,
  ],
  [
    'too little memory',
    [waiting('CrashLoopBackOff', undefined, restarted(3, exited(137, 'OOMKilled')))],
    0,
    /more memory than its limit/,
  ],
  ['no node', [unschedulable('0/3 nodes are available')], UNSCHEDULABLE_MS, /0\/3 nodes are available/],
  [
    'a volume that is being provisioned',
    [unschedulable('pod has unbound immediate PersistentVolumeClaims')],
    4 * UNSCHEDULABLE_MS,
    /unbound/,
  ],
  [
    'a quota',
    [],
    5000,
    /refuses pods of server: exceeded quota/,
    condition('ReplicaFailure', 'True', 'FailedCreate', 'exceeded quota: pods'),
  ],
  [
    'the cluster’s own deadline',
    [waiting('ContainerCreating')],
    UNSCHEDULABLE_MS,
    /made no progress before its deadline/,
    condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'has timed out'),
  ],
  [
    'a kubelet that reports neither image nor cause of a failed pull',
    [waiting('ErrImagePull', undefined, { image: '' })],
    5000,
    /The image agent:from-spec of container agent of pod server-rev-2 can't be pulled$/,
  ],
  ['a crash loop without details', [waiting('CrashLoopBackOff')], 0, /keeps crashing: it was restarted/],
  [
    'an ended container that is not restarted',
    [pod({ state: exited(1) })],
    5000,
    /Container agent of pod server-rev-2 has ended: it exited with code 1/,
  ],
  [
    'an unknown waiting reason',
    [waiting('CreatePodSandboxError', 'no address left')],
    UNSCHEDULABLE_MS,
    /can't be started \(CreatePodSandboxError\): no address left/,
  ],
  [
    'pods that end instead of being restarted',
    [failed('one', exited(1)), failed('two', exited(2))],
    5000,
    /Pods of server fail. Pod two: its container agent exited with code 2/,
  ],
  [
    'one pod that was evicted and not replaced',
    [failed('one')],
    UNSCHEDULABLE_MS,
    /Pod one: failed \(Evicted: low on disk\)/,
  ],
])('a rollout fails with %s after its grace period', (_, pods, after, message, workload = deployment(NOT_READY)) => {
  expect(see(pods, workload).done).toBe(false)
  expect(failure(pods, workload)).toEqual({ after, message: expect.stringMatching(message) })
})

test('a failed init container is named as such, and a finished one is no problem', () => {
  const init = (status: Partial<V1ContainerStatus>) => {
    const made = pod(waits('PodInitializing'))
    made.status!.initContainerStatuses = [
      { name: 'setup', image: 'i', imageID: '', ready: false, restartCount: 0, ...status },
    ]
    return made
  }
  const crashing = init({ ...waits('CrashLoopBackOff'), restartCount: 2, lastState: exited(1) })
  const found = see([crashing], deployment(NOT_READY)).problems
  expect(found[0]!.message).toMatch(/^Init container setup of pod/)
  expect(found[0]!.output).toMatchObject({ container: 'setup', previous: true })
  expect(
    failure([init({ ready: true, state: exited(0, 'Completed'), restartCount: 3 })], deployment(NOT_READY)),
  ).toBeNull()
  expect(failure([init({ state: { running: {} }, restartCount: 1 })], deployment(NOT_READY))).toBeNull()
})

test('a container that crashed once, and crashing pods of older revisions, are no failure', () => {
  expect(
    failure([pod({ state: { running: {} }, restartCount: 1, lastState: exited(1) })], deployment(NOT_READY)),
  ).toBeNull()
  const crash = { ...waits('CrashLoopBackOff'), restartCount: 9, lastState: exited(1) }
  expect(failure([pod(crash, {}, 'rev-1')], deployment(NOT_READY))).toBeNull()
})

test('an image that can’t be pulled is reported with the cause, not with the retry', () => {
  const grace = new GracePeriods()
  const first = see([pod(waits('ErrImagePull', 'manifest unknown'))], deployment(NOT_READY))
  expect(grace.check(first.problems, 0).failed).toBeNull()
  const then = see([pod(waits('ImagePullBackOff', 'Back-off pulling image "agent:2"'))], deployment(NOT_READY))
  expect(grace.check(then.problems, 100).failed?.message).toMatch(/manifest unknown/)
})

test('the grace period of a problem restarts when the problem returns', () => {
  const grace = new GracePeriods()
  const { problems } = see([unschedulable('0/3 nodes')], deployment(NOT_READY))
  expect(grace.check(problems, 0)).toEqual({ failed: null, againInMs: UNSCHEDULABLE_MS })
  grace.check([], 20_000)
  expect(grace.check(problems, 40_000)).toEqual({ failed: null, againInMs: UNSCHEDULABLE_MS })
})
