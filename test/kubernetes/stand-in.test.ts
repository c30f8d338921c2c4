// The stand-in cluster behaves like a real one. These tests run against both: set TEST_KUBECONFIG for a real cluster.
// Tests of what only the stand-in can do are skipped there.

import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ApiException,
  AppsV1Api,
  AutoscalingV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
  type V1Deployment,
  type V1LimitRangeItem,
  type V1Pod,
  Watch,
} from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { proxyKubeconfig } from '../support/kubernetes/proxy.ts'
import { startStandIn } from '../support/kubernetes/stand-in.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of all kinds
type Any = any

let cluster: TestCluster
let namespace: string
let config: KubeConfig
let core: CoreV1Api
let apps: AppsV1Api
let objects: KubernetesObjectApi

beforeAll(async () => {
  cluster = await openTestCluster()
  namespace = await cluster.createNamespace()
  config = configOf(cluster.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
  apps = config.makeApiClient(AppsV1Api)
  objects = KubernetesObjectApi.makeApiClient(config)
})
afterAll(() => cluster.close())

function configOf(file: string): KubeConfig {
  const loaded = new KubeConfig()
  loaded.loadFromFile(file)
  return loaded
}

const apply = (object: object, { manager = 'tester', force = false, as = objects } = {}): Promise<Any> =>
  as.patch(object as Any, undefined, undefined, manager, force, PatchStrategy.ServerSideApply)

/** The error of a refused call. */
async function refusal(call: Promise<unknown>): Promise<{ code: number; reason: string; message: string }> {
  const error: Any = await call.then(
    () => undefined,
    (e: unknown) => e,
  )
  if (!(error instanceof ApiException)) throw error ?? new Error('the call was not refused')
  const { code, reason, message } = typeof error.body === 'string' ? JSON.parse(error.body) : error.body
  return { code, reason, message }
}

const isNotFound = (error: unknown): boolean => error instanceof ApiException && error.code === 404

/** Repeats `check` until it is true, because a real cluster takes time. */
async function until<T>(look: () => Promise<T | undefined | false | null>, seconds = 60): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`not so after ${seconds} s: ${look}`)
    await sleep(20)
  }
}

const configMap = (name: string, data: Record<string, string>, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...metadata },
  data,
})

function deployment(name: string, image: string, { replicas = 1, spec = {}, pod = {} }: Any = {}) {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }], ...pod } },
      ...spec,
    },
  }
}

const read = (name: string): Promise<V1Deployment> => apps.readNamespacedDeployment({ name, namespace })
const podsOf = async (name: string): Promise<V1Pod[]> =>
  (await core.listNamespacedPod({ namespace, labelSelector: `app=${name}` })).items
const condition = (object: Any, type: string) => object.status?.conditions?.find((c: Any) => c.type === type)
const rolledOut = (name: string, replicas = 1) =>
  until(async () => {
    const { status, metadata } = await read(name)
    const done = status?.updatedReplicas === replicas && status.availableReplicas === replicas
    return done && status.replicas === replicas && status.observedGeneration === metadata!.generation
  })
/** A pod of the deployment with a container that waits for this reason. */
const waiting = (name: string, reason: string) =>
  until(async () => {
    const states = (await podsOf(name)).flatMap((pod) => pod.status?.containerStatuses ?? [])
    return states.find((s) => s.state?.waiting?.reason === reason)
  })

describe('writes', () => {
  test('a write with an old resource version is refused', async () => {
    const first = await core.createNamespacedConfigMap({ namespace, body: configMap('locked', { a: '1' }) })
    await core.replaceNamespacedConfigMap({ namespace, name: 'locked', body: { ...first, data: { a: '2' } } })
    const again = core.replaceNamespacedConfigMap({ namespace, name: 'locked', body: { ...first, data: { a: '3' } } })
    expect(await refusal(again)).toEqual({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "locked": the object has been modified; please apply your changes to the latest version and try again',
    })
    const stale = configMap('locked', { a: '4' }, { resourceVersion: first.metadata!.resourceVersion })
    expect((await refusal(apply(stale, { force: true }))).code).toBe(409)
  })

  test('an existing object can’t be created again, and an absent one can’t be read', async () => {
    await core.createNamespacedConfigMap({ namespace, body: configMap('twice', {}) })
    const again = core.createNamespacedConfigMap({ namespace, body: configMap('twice', {}) })
    expect(await refusal(again)).toMatchObject({
      reason: 'AlreadyExists',
      message: 'configmaps "twice" already exists',
    })
    expect(await refusal(read('nobody'))).toMatchObject({ code: 404, message: 'deployments.apps "nobody" not found' })
  })

  test('a deletion with the uid of an earlier object is refused', async () => {
    await core.createNamespacedConfigMap({ namespace, body: configMap('mine', {}) })
    const body = { preconditions: { uid: 'another' } }
    expect(await refusal(core.deleteNamespacedConfigMap({ namespace, name: 'mine', body }))).toMatchObject({
      code: 409,
    })
    await core.deleteNamespacedConfigMap({ namespace, name: 'mine' })
  })

  test('an invalid manifest is refused with all its mistakes', async () => {
    const wrong = deployment('wrong', 'app:1', {
      pod: {
        containers: [
          {
            name: 'main',
            image: 'app:1',
            resources: { requests: { cpu: '2' }, limits: { cpu: '1' } },
            volumeMounts: [{ name: 'nothing', mountPath: '/data' }],
          },
        ],
      },
    })
    const { code, reason, message } = await refusal(apply(wrong))
    expect({ code, reason }).toEqual({ code: 422, reason: 'Invalid' })
    expect(message).toContain('Deployment.apps "wrong" is invalid: [')
    expect(message).toContain('spec.template.spec.containers[0].volumeMounts[0].name: Not found: "nothing"')
    expect(message).toContain('must be less than or equal to cpu limit')
  })

  test('the selector of a Deployment can’t change', async () => {
    await apply(deployment('fixed', 'app:1', { replicas: 0 }))
    const other = deployment('fixed', 'app:1', { replicas: 0 })
    other.spec.selector.matchLabels = { app: 'other' }
    other.spec.template.metadata.labels = { app: 'other' }
    expect((await refusal(apply(other))).message).toContain('field is immutable')
  })
})

describe('server-side apply', () => {
  test('a repeated apply changes nothing, even after the server added defaults', async () => {
    const manifest = deployment('same', 'app:1', {
      replicas: 0,
      pod: {
        containers: [
          {
            name: 'main',
            image: 'app:1',
            env: [
              { name: 'A', value: '1' },
              { name: 'EMPTY', value: '' },
            ],
            ports: [{ containerPort: 8000 }],
            resources: { requests: { cpu: '2000m', memory: '1.5Gi' }, limits: { cpu: '2' } },
            readinessProbe: { httpGet: { path: '/ok', port: 8000 } },
          },
        ],
        volumes: [{ name: 'scratch', emptyDir: {} }],
      },
    })
    await apply(manifest)
    const before = await until(async () => {
      const found = await read('same')
      return condition(found, 'Progressing')?.reason === 'NewReplicaSetAvailable' && found
    })
    const again = await apply(manifest)
    expect(again.metadata.resourceVersion).toBe(before.metadata!.resourceVersion)
    expect(again.metadata.generation).toBe(1)
    const { requests } = again.spec.template.spec.containers[0].resources
    expect(requests).toEqual({ cpu: '2', memory: '1536Mi' })
  })

  test('a field that a manager no longer applies is removed, unless another manager or none owns it', async () => {
    const before = deployment('owned', 'app:1', { replicas: 0 })
    before.spec.template.spec.containers[0].env = [
      { name: 'GOES', value: '1' },
      { name: 'STAYS', value: '1' },
    ]
    // older servers keep the defaults of a probe, which then make it invalid
    if (cluster.minor >= 22)
      before.spec.template.spec.containers[0].livenessProbe = { httpGet: { path: '/', port: 80 } }
    await apply(before)
    const theirs = deployment('owned', 'app:1', { replicas: 0 })
    theirs.spec = {
      template: { spec: { containers: [{ name: 'main', env: [{ name: 'THEIRS', value: '1' }] }] } },
    } as Any
    await apply(theirs, { manager: 'somebody' })
    await objects.patch(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'owned', namespace, annotations: { hand: 'made' } },
      } as Any,
      undefined,
      undefined,
      'kubectl-annotate',
      undefined,
      PatchStrategy.MergePatch,
    )
    const after = deployment('owned', 'app:1', { replicas: 0 })
    after.spec.template.spec.containers[0].env = [{ name: 'STAYS', value: '1' }]
    const result = await apply(after)
    const [container] = result.spec.template.spec.containers
    expect(container.env.map((e: Any) => e.name).sort()).toEqual(['STAYS', 'THEIRS'])
    expect(container).not.toHaveProperty('livenessProbe')
    expect(result.metadata.annotations.hand).toBe('made')
  })

  test('a field that another manager owns with another value is a conflict, unless the apply is forced', async () => {
    await apply(configMap('contested', { a: '1' }))
    const { code, message } = await refusal(apply(configMap('contested', { a: '2' }), { manager: 'second' }))
    expect(code).toBe(409)
    expect(message).toBe('Apply failed with 1 conflict: conflict with "tester": .data.a')
    await apply(configMap('contested', { a: '1' }), { manager: 'second' })
    const forced = await apply(configMap('contested', { a: '3' }), { manager: 'third', force: true })
    expect(forced.data).toEqual({ a: '3' })
    const owners = forced.metadata.managedFields.map((e: Any) => e.manager)
    expect(owners).toEqual(['third'])
  })

  test('an apply with the uid of a deleted object creates no object', async () => {
    const gone = configMap('ghost', {}, { uid: '0e8f4a4e-0000-4000-8000-000000000000' })
    expect(await refusal(apply(gone))).toMatchObject({ code: 409, reason: 'Conflict' })
    expect((await refusal(core.readNamespacedConfigMap({ namespace, name: 'ghost' }))).code).toBe(404)
  })

  test('the generation counts only changes of the spec', async () => {
    await apply(deployment('counted', 'app:1', { replicas: 0 }))
    const labelled = deployment('counted', 'app:1', { replicas: 0 })
    labelled.metadata = { ...labelled.metadata, labels: { a: 'b' } } as Any
    expect((await apply(labelled)).metadata.generation).toBe(1)
    expect((await apply(deployment('counted', 'app:2', { replicas: 0 }))).metadata.generation).toBe(2)
  })
})

describe('lists and watches', () => {
  /** Watches config maps from a version and collects the events. */
  async function follow(resourceVersion: string, query: object = {}) {
    const events: { type: string; name: string; object: Any }[] = []
    let end: (error: unknown) => void = () => {}
    const ended = new Promise((resolve) => {
      end = resolve
    })
    const controller = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { resourceVersion, ...query },
      (type, object) => events.push({ type, name: object.metadata?.name, object }),
      (error) => end(error),
    )
    return { events, ended, stop: () => controller.abort() }
  }

  test('a watch sends the changes since its version, in order, and none before', async () => {
    await core.createNamespacedConfigMap({ namespace, body: configMap('w-before', {}) })
    const { metadata } = await core.listNamespacedConfigMap({ namespace })
    await apply(configMap('w-one', { a: '1' }))
    await apply(configMap('w-one', { a: '1' }))
    await apply(configMap('w-one', { a: '2' }))
    const watch = await follow(metadata!.resourceVersion!)
    await core.deleteNamespacedConfigMap({ namespace, name: 'w-one' })
    await until(async () => watch.events.some((e) => e.type === 'DELETED'))
    watch.stop()
    expect(watch.events.filter((e) => e.name?.startsWith('w-')).map((e) => `${e.type} ${e.name}`)).toEqual([
      'ADDED w-one',
      'MODIFIED w-one',
      'DELETED w-one',
    ])
  })

  test('an object that no longer matches the selector is a deletion for that watch', async () => {
    const { metadata } = await core.listNamespacedConfigMap({ namespace })
    const watch = await follow(metadata!.resourceVersion!, { labelSelector: 'picked=yes' })
    await apply(configMap('picked', {}, { labels: { picked: 'yes' } }))
    await apply(configMap('picked', {}, { labels: { picked: 'no' } }))
    await until(async () => watch.events.length === 2)
    watch.stop()
    expect(watch.events.map((e) => e.type)).toEqual(['ADDED', 'DELETED'])
  })

  test('a watch ends at its time limit', async () => {
    const { metadata } = await core.listNamespacedConfigMap({ namespace })
    const watch = await follow(metadata!.resourceVersion!, { timeoutSeconds: 1 })
    expect(await watch.ended).toBeNull()
  })

  test('a long list comes in pages', async () => {
    for (const n of [1, 2, 3]) await apply(configMap(`page-${n}`, {}, { labels: { paged: 'yes' } }))
    const labelSelector = 'paged in (yes)'
    const first = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 2 })
    expect(first.items.map((o) => o.metadata!.name)).toEqual(['page-1', 'page-2'])
    const _continue = first.metadata!._continue
    const rest = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 2, _continue })
    expect(rest.items.map((o) => o.metadata!.name)).toEqual(['page-3'])
  })

  test.skipIf(process.env.TEST_KUBECONFIG)('a watch from a forgotten version fails with 410 Gone', async () => {
    const { metadata } = await core.listNamespacedConfigMap({ namespace })
    await apply(configMap('later', {}))
    cluster.standIn!.compact()
    const watch = await follow(metadata!.resourceVersion!)
    await watch.ended
    expect(watch.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }])
  })
})

describe('workloads', () => {
  test('a deployment creates serving pods and deletes all of them with itself', async () => {
    await apply(deployment('web', 'app:1', { replicas: 2 }))
    await rolledOut('web', 2)
    const pods = await podsOf('web')
    expect(pods.map((pod) => pod.status!.phase)).toEqual(['Running', 'Running'])
    expect(condition(await read('web'), 'Available').status).toBe('True')
    await apps.deleteNamespacedDeployment({ name: 'web', namespace })
    await until(async () => (await podsOf('web')).length === 0)
    const sets = await apps.listNamespacedReplicaSet({ namespace, labelSelector: 'app=web' })
    expect(sets.items).toEqual([])
  })

  test('an image that can’t be pulled leaves the old pods serving, and a rollback works immediately', async () => {
    await apply(deployment('bad', 'app:1', { replicas: 2 }))
    await rolledOut('bad', 2)
    const old = (await podsOf('bad')).map((pod) => pod.metadata!.name)
    await apply(deployment('bad', 'app:bad1', { replicas: 2 }))
    const state = await waiting('bad', 'ImagePullBackOff')
    expect(state.state!.waiting!.message).toContain('app:bad1')
    const during = await read('bad')
    expect(during.status).toMatchObject({ availableReplicas: 2, updatedReplicas: 1, replicas: 3 })
    await apply(deployment('bad', 'app:1', { replicas: 2 }))
    await rolledOut('bad', 2)
    // the pod that never ran disappears a little later
    const pods = async () => (await podsOf('bad')).map((pod) => pod.metadata!.name).sort()
    await expect.poll(pods).toEqual(old.sort())
  })

  test('a container that ends again and again is in CrashLoopBackOff, and its last output can be read', async () => {
    await apply(deployment('crash', 'app:crash'))
    const { restartCount, lastState } = await waiting('crash', 'CrashLoopBackOff')
    expect(restartCount).toBeGreaterThan(0)
    expect(lastState!.terminated!.exitCode).toBe(1)
  })

  test('a stalled rollout is reported at its progress deadline', async () => {
    await apply(deployment('stuck', 'app:bad', { spec: { progressDeadlineSeconds: 1 } }))
    const stuck = await until(async () => {
      const found = condition(await read('stuck'), 'Progressing')
      return found?.reason === 'ProgressDeadlineExceeded' && found
    })
    expect(stuck.message).toMatch(/^ReplicaSet "stuck-\w+" has timed out progressing\.$/)
  })

  test('a missing secret is named, and the pod starts when it exists', async () => {
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'late', key: 'key' } } }]
    const containers = [{ name: 'main', image: 'app:1', env }]
    await apply(deployment('waits', 'app:1', { pod: { containers } }))
    const state = await waiting('waits', 'CreateContainerConfigError')
    expect(state.state!.waiting!.message).toBe('secret "late" not found')
    await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'late' }, stringData: { key: 'v' } } })
    await rolledOut('waits')
  })

  test('a Deployment reports an exceeded quota and a missing service account', async () => {
    const other = await cluster.createNamespace()
    const spec = { hard: { pods: '1' } }
    await core.createNamespacedResourceQuota({ namespace: other, body: { metadata: { name: 'small' }, spec } })
    const at = (name: string, options: Any) => {
      const object = deployment(name, 'app:1', options)
      return { ...object, metadata: { name, namespace: other } }
    }
    await until(async () => (await core.readNamespacedResourceQuota({ namespace: other, name: 'small' })).status?.hard)
    await apply(at('many', { replicas: 2 }))
    const message = (name: string) =>
      until(async () => {
        const found = await apps.readNamespacedDeployment({ name, namespace: other })
        return condition(found, 'ReplicaFailure')?.message as string
      })
    expect(await message('many')).toMatch(
      /^pods "many-\w+-\w+" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1$/,
    )
    await apply(at('lost', { pod: { serviceAccountName: 'nobody' } }))
    expect(await message('lost')).toMatch(
      new RegExp(`error looking up service account ${other}/nobody: serviceaccount "nobody" not found`),
    )
  })

  test('a namespace that enforces Pod Security refuses other pods and names what they lack', async ({ skip }) => {
    skip(cluster.minor < 25, 'clusters have no Pod Security admission before')
    const restricted = await cluster.createNamespace({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    const pod = (name: string, spec: Any, container: Any = {}) => ({
      metadata: { name },
      spec: { ...spec, containers: [{ name: 'main', image: 'app:1', ...container }] },
    })
    const create = (at: string, body: Any) => core.createNamespacedPod({ namespace: at, body })
    expect(await refusal(create(restricted, pod('bare', {})))).toEqual({
      code: 403,
      reason: 'Forbidden',
      message:
        'pods "bare" is forbidden: violates PodSecurity "restricted:latest": ' +
        'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), ' +
        'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), ' +
        'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), ' +
        'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    })
    const locked = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
    const confined = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
    await create(restricted, pod('good', { securityContext: confined }, { securityContext: locked }))
    const adds = { ...locked, capabilities: { drop: ['ALL'], add: ['CHOWN'] } }
    const asRoot = { ...confined, runAsUser: 0 }
    const volumes = [{ name: 'host', hostPath: { path: '/' } }]
    const bad = pod('bad', { securityContext: asRoot, volumes }, { securityContext: adds })
    expect((await refusal(create(restricted, bad))).message).toBe(
      'pods "bad" is forbidden: violates PodSecurity "restricted:latest": ' +
        'unrestricted capabilities (container "main" must not include "CHOWN" in securityContext.capabilities.add), ' +
        'restricted volume types (volume "host" uses restricted volume type "hostPath"), ' +
        'runAsUser=0 (pod must not set runAsUser=0)',
    )
    const baseline = await cluster.createNamespace({ 'pod-security.kubernetes.io/enforce': 'baseline' })
    await create(baseline, pod('bare', {}, { securityContext: { capabilities: { add: ['CHOWN'] } } }))
    const privileged = pod('rich', { hostNetwork: true }, { securityContext: { privileged: true } })
    expect((await refusal(create(baseline, privileged))).message).toBe(
      'pods "rich" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), ' +
        'privileged (container "main" must not set securityContext.privileged=true)',
    )
    // the workload is created, its pods are not
    await apply({ ...deployment('plain', 'app:1'), metadata: { name: 'plain', namespace: restricted } })
    const told = await until(async () =>
      condition(await apps.readNamespacedDeployment({ name: 'plain', namespace: restricted }), 'ReplicaFailure'),
    )
    expect(told).toMatchObject({ status: 'True', reason: 'FailedCreate' })
    expect(told.message).toMatch(/^pods "plain-\w+-\w+" is forbidden: violates PodSecurity "restricted:latest": /)
    const events = await until(async () => {
      const { items } = await core.listNamespacedEvent({ namespace: restricted })
      return items.find(({ reason }) => reason === 'FailedCreate')
    })
    expect(events.message).toMatch(/^Error creating: pods "plain-/)
  })

  test('a limit range gives pods defaults and refuses values outside its range', async () => {
    const other = await cluster.createNamespace()
    const container = { type: 'Container', _default: { cpu: '500m' }, defaultRequest: { memory: '64Mi' } }
    const limits: V1LimitRangeItem[] = [
      { ...container, max: { cpu: '2' } },
      { type: 'PersistentVolumeClaim', max: { storage: '5Gi' } },
    ]
    await core.createNamespacedLimitRange({ namespace: other, body: { metadata: { name: 'sizes' }, spec: { limits } } })
    const create = (name: string, resources: Any) =>
      core.createNamespacedPod({
        namespace: other,
        body: { metadata: { name }, spec: { containers: [{ name: 'main', image: 'app:1', resources }] } },
      })
    const quiet = await create('quiet', {})
    expect(quiet.spec!.containers[0]!.resources).toEqual({
      limits: { cpu: '500m' },
      requests: { cpu: '500m', memory: '64Mi' },
    })
    expect(quiet.metadata!.annotations!['kubernetes.io/limit-ranger']).toMatch(/^LimitRanger plugin set: .*cpu/)
    expect(await refusal(create('large', { limits: { cpu: '3' } }))).toEqual({
      code: 403,
      reason: 'Forbidden',
      message: 'pods "large" is forbidden: maximum cpu usage per Container is 2, but limit is 3',
    })
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '6Gi' } } }
    const body = { metadata: { name: 'data' }, spec: claim }
    expect((await refusal(core.createNamespacedPersistentVolumeClaim({ namespace: other, body }))).message).toBe(
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi',
    )
  })

  test('a compute quota refuses pods without requests', async () => {
    const other = await cluster.createNamespace()
    const spec = { hard: { 'limits.memory': '1Gi', 'requests.cpu': '1' } }
    await core.createNamespacedResourceQuota({ namespace: other, body: { metadata: { name: 'compute' }, spec } })
    await until(
      async () => (await core.readNamespacedResourceQuota({ namespace: other, name: 'compute' })).status?.hard,
    )
    const create = (name: string, resources: Any) =>
      core.createNamespacedPod({
        namespace: other,
        body: { metadata: { name }, spec: { containers: [{ name: 'main', image: 'app:1', resources }] } },
      })
    // older versions don't name the container
    expect((await refusal(create('quiet', {}))).message).toMatch(
      /^pods "quiet" is forbidden: failed quota: compute: must specify limits.memory.*requests.cpu/,
    )
    await create('one', { limits: { memory: '512Mi' }, requests: { cpu: '800m' } })
    expect((await refusal(create('two', { limits: { memory: '512Mi' }, requests: { cpu: '800m' } }))).message).toBe(
      'pods "two" is forbidden: exceeded quota: compute, requested: requests.cpu=800m, used: requests.cpu=800m, limited: requests.cpu=1',
    )
  })

  test('a pod that fits no node waits and reports it', async () => {
    const resources = { requests: { cpu: '100000' } }
    const containers = [{ name: 'main', image: 'app:1', resources }]
    await apply(deployment('large', 'app:1', { pod: { containers } }))
    const message = await until(async () => {
      const [pod] = await podsOf('large')
      const scheduled = pod && condition(pod, 'PodScheduled')
      return scheduled?.reason === 'Unschedulable' && (scheduled.message as string)
    })
    expect(message).toMatch(/^0\/\d+ nodes are available: .*Insufficient cpu/)
  })

  test('an autoscaler raises replicas to its minimum and lowers them to its maximum', async () => {
    const scaling = config.makeApiClient(AutoscalingV1Api)
    await apply(deployment('scaled', 'app:1'))
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'scaled' }
    const body = (minReplicas: number, maxReplicas: number) => ({
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'scaled', namespace },
      spec: { scaleTargetRef, minReplicas, maxReplicas },
    })
    await apply(body(2, 3))
    await until(async () => (await read('scaled')).spec!.replicas === 2)
    await apps.patchNamespacedDeploymentScale({
      name: 'scaled',
      namespace,
      body: [{ op: 'replace', path: '/spec/replicas', value: 5 }],
    })
    await until(async () => (await read('scaled')).spec!.replicas === 3)
    await scaling.deleteNamespacedHorizontalPodAutoscaler({ name: 'scaled', namespace })
  })

  test('a stateful set has numbered pods with their own volumes, which outlive it', async () => {
    const body = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace },
      spec: {
        serviceName: 'db',
        selector: { matchLabels: { app: 'db' } },
        template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    }
    await apply(body)
    const claim = () => core.readNamespacedPersistentVolumeClaim({ name: 'data-db-0', namespace })
    await until(() => claim().catch(() => null))
    expect((await podsOf('db')).map((pod) => pod.metadata!.name)).toEqual(['db-0'])
    const before = await apps.readNamespacedStatefulSet({ name: 'db', namespace })
    const again = await apply(body)
    expect(again.metadata.generation).toBe(before.metadata!.generation)
    await apps.deleteNamespacedStatefulSet({ name: 'db', namespace })
    await until(async () => (await podsOf('db')).length === 0)
    expect((await claim()).metadata!.deletionTimestamp).toBeUndefined()
  })

  test('a stateful set does not replace a pod that never got ready until a user deletes it', async () => {
    const body = (image: string) => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'broken', namespace },
      spec: {
        serviceName: 'broken',
        selector: { matchLabels: { app: 'broken' } },
        template: { metadata: { labels: { app: 'broken' } }, spec: { containers: [{ name: 'main', image }] } },
      },
    })
    await apply(body('app:bad'))
    await waiting('broken', 'ImagePullBackOff')
    await apply(body('app:1'))
    await until(async () => {
      const { status, metadata } = await apps.readNamespacedStatefulSet({ name: 'broken', namespace })
      return status!.observedGeneration === metadata!.generation
    })
    const [pod] = await podsOf('broken')
    expect(pod!.spec!.containers[0]!.image).toBe('app:bad')
    await core.deleteNamespacedPod({ name: 'broken-0', namespace, gracePeriodSeconds: 0 })
    await until(async () => (await podsOf('broken')).some((p) => condition(p, 'Ready')?.status === 'True'))
  })

  test.skipIf(process.env.TEST_KUBECONFIG)(
    'a pod is ready when the test decides so, and its log can be followed',
    async () => {
      await apply(deployment('slow', 'app:slow'))
      const pod = await until(async () => (await podsOf('slow')).find((p) => p.status?.phase === 'Running'))
      const name = { namespace, name: pod.metadata!.name! }
      const stream = new PassThrough().setEncoding('utf8')
      let text = ''
      stream.on('data', (chunk: string) => {
        text += chunk
      })
      const log = await new Log(config).log(namespace, name.name, 'main', stream, { follow: true })
      cluster.standIn!.print(name, 'hello')
      await until(async () => text.includes('hello\n'))
      expect(text).toContain('starting app:slow')
      expect((await read('slow')).status!.availableReplicas).toBeUndefined()
      cluster.standIn!.release(name)
      await rolledOut('slow')
      log.abort()
      expect(await core.readNamespacedPodLog({ ...name, tailLines: 2 })).toBe('hello\nmain: listening\n')
    },
  )
})

test('a volume of a class that waits for the first pod is created with that pod', async () => {
  const standIn = await startStandIn({ storageClasses: [{ name: 'late', volumeBindingMode: 'WaitForFirstConsumer' }] })
  const own = new KubeConfig()
  own.loadFromString(standIn.kubeconfig({ namespace: 'default' }))
  const as = KubernetesObjectApi.makeApiClient(own)
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const metadata = { name: 'data', namespace: 'default' }
  await apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }, { as })
  const claim = () => standIn.object('PersistentVolumeClaim', 'default', 'data')
  const events = () => standIn.objects('Event').map((event) => event.reason)
  await until(async () => events().includes('WaitForFirstConsumer'))
  expect(claim()!.status.phase).toBe('Pending')
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  const pod = { metadata: { name: 'first' }, spec: { containers: [{ name: 'main', image: 'app:1' }], volumes } }
  await until(async () => standIn.object('ServiceAccount', 'default', 'default'))
  await own.makeApiClient(CoreV1Api).createNamespacedPod({ namespace: 'default', body: pod })
  await until(async () => standIn.object('Pod', 'default', 'first')?.status?.phase === 'Running')
  expect(claim()!.status.phase).toBe('Bound')
  expect(events()).not.toContain('FailedScheduling')
  await standIn.close()
})

describe('permissions and the network', () => {
  test('an account may do exactly what its role allows, in the role’s namespace', async () => {
    const other = await cluster.createNamespace()
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'] }]
    const limited = configOf(await cluster.limitedKubeconfig({ namespaces: [namespace], rules }))
    const as = KubernetesObjectApi.makeApiClient(limited)
    const limitedCore = limited.makeApiClient(CoreV1Api)
    await apply(configMap('seen', { a: '1' }))
    expect(
      (await until(() => limitedCore.readNamespacedConfigMap({ namespace, name: 'seen' }).catch(() => null))).data,
    ).toEqual({ a: '1' })
    await apply(configMap('seen', { b: '1' }), { as, manager: 'limited' })

    const elsewhere = await refusal(limitedCore.readNamespacedConfigMap({ namespace: other, name: 'seen' }))
    expect(elsewhere).toMatchObject({ code: 403, reason: 'Forbidden' })
    expect(elsewhere.message).toMatch(
      new RegExp(
        `^configmaps "seen" is forbidden: User "system:serviceaccount:${namespace}:limited-\\w+" cannot get resource "configmaps" in API group "" in the namespace "${other}"$`,
      ),
    )
    // an apply that creates an object also needs the permission to create
    expect((await refusal(apply(configMap('unseen', {}), { as }))).code).toBe(403)
    expect((await refusal(limitedCore.listNamespacedConfigMap({ namespace }))).code).toBe(403)
    expect((await refusal(limitedCore.listNamespace())).message).toContain('at the cluster scope')
  })

  test('an unknown token is refused', async () => {
    const stranger = configOf(cluster.kubeconfig)
    const context = stranger.getCurrentCluster()!
    stranger.loadFromClusterAndUser(context, { name: 'x', token: 'made-up' })
    await expect(stranger.makeApiClient(CoreV1Api).listNamespace()).rejects.toMatchObject({ code: 401 })
  })

  test('deleting a namespace deletes all its objects', async () => {
    const home = await cluster.createNamespace()
    await core.createNamespacedConfigMap({ namespace: home, body: { metadata: { name: 'inside' } } })
    await core.deleteNamespace({ name: home })
    await until(() => core.readNamespace({ name: home }).then(() => false, isNotFound))
    const late = core.createNamespacedConfigMap({ namespace: home, body: { metadata: { name: 'late' } } })
    expect((await refusal(late)).code).toBe(404)
  })

  test('a proxy can cut or freeze the network and heal it', async () => {
    const { proxy, kubeconfig } = await proxyKubeconfig(cluster.kubeconfig)
    const through = configOf(kubeconfig).makeApiClient(CoreV1Api)
    await through.listNamespacedConfigMap({ namespace })
    proxy.cut()
    await expect(through.listNamespacedConfigMap({ namespace })).rejects.toThrow(/ECONNRE|socket/)
    proxy.freeze()
    let answered = false
    const waitingCall = through.listNamespacedConfigMap({ namespace }).then(() => {
      answered = true
    })
    await core.listNamespacedConfigMap({ namespace })
    expect(answered).toBe(false)
    proxy.heal()
    await waitingCall
    await proxy.close()
  })
})
