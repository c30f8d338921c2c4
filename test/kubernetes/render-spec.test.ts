/**
 * Each field of docs/deployments.md#resource-spec, alone and together with the others: where its value appears, and
 * that nothing else changes.
 */
import { describe, expect, test } from 'vitest'
import { type ResourceSpec, resourceSpec } from '../../src/domain/values/resource-spec.ts'
import { changes, deployment, type Paths, pathsOf, render, schemaErrors } from './render-support.ts'

const S = 'Deployment/server:spec'
const Q = 'Deployment/queue:spec'
const [SP, QP] = [`${S}.template.spec`, `${Q}.template.spec`]
const [SA, QA] = [`${SP}.containers.agent`, `${QP}.containers.agent`]
const C = 'Deployment/cache:spec.template.spec.containers.redis'
const D = 'StatefulSet/database:spec.template.spec.containers.postgres'

const below = (at: string, paths: Paths): Paths =>
  Object.fromEntries(Object.entries(paths).map(([path, value]) => [`${at}.${path}`, value]))

/** The same paths below the pods of server and queue. */
const both = (paths: Paths): Paths => ({ ...below(SP, paths), ...below(QP, paths) })

const metadata = (role: 'server' | 'queue'): Paths => ({
  'metadata.name': `ph-${deployment.deploymentId}-${role}`,
  'metadata.namespace': 'agents',
  'metadata.labels.app.kubernetes.io/instance': `ph-${deployment.deploymentId}`,
  'metadata.labels.app.kubernetes.io/part-of': 'pilothouse',
  'metadata.labels.app.kubernetes.io/managed-by': 'pilothouse',
  'metadata.labels.app.kubernetes.io/name': 'agent-server',
  'metadata.labels.app.kubernetes.io/component': role,
  'metadata.labels.pilothouse.dev/deployment-id': deployment.deploymentId,
  'metadata.labels.pilothouse.dev/workspace-id': deployment.workspaceId,
  'metadata.annotations.pilothouse.dev/name': 'Support bot',
})

/** Objects of a component with several replicas: an autoscaler, and a budget for drains. */
const several = (role: 'server' | 'queue', min: number, max: number): Paths => {
  const of = (object: string, paths: Paths) =>
    Object.fromEntries(
      Object.entries({ ...metadata(role), ...paths }).map(([path, value]) => [`${object}/${role}:${path}`, value]),
    )
  return {
    ...of('PDB', {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      'spec.maxUnavailable': 1,
      'spec.selector.matchLabels.app.kubernetes.io/component': role,
      'spec.selector.matchLabels.pilothouse.dev/deployment-id': deployment.deploymentId,
    }),
    ...of('HPA', {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      'spec.scaleTargetRef.apiVersion': 'apps/v1',
      'spec.scaleTargetRef.kind': 'Deployment',
      'spec.scaleTargetRef.name': `ph-${deployment.deploymentId}-${role}`,
      'spec.minReplicas': min,
      'spec.maxReplicas': max,
      'spec.targetCPUUtilizationPercentage': 80,
    }),
  }
}

const OBJECTS = [
  'Secret/database',
  'PersistentVolumeClaim/database',
  'StatefulSet/database',
  'Service/database',
  'Deployment/cache',
  'Service/cache',
  'NetworkPolicy/database',
  'Secret/r4',
  'Deployment/server',
  'Deployment/queue',
  'Service/',
  'NetworkPolicy/',
]
const PODS = ['StatefulSet/database', 'Deployment/cache', 'Deployment/server', 'Deployment/queue']

/** Values on all objects and on the pods of server and queue. A change of them must not restart database or cache. */
const everywhere = (path: string, value: string, more: string[] = []): Paths =>
  Object.fromEntries(
    [
      ...[...OBJECTS, ...more].map((object) => `${object}:metadata.${path}`),
      ...['Deployment/server', 'Deployment/queue'].map((object) => `${object}:spec.template.metadata.${path}`),
    ].map((full) => [full, value]),
  )

const KEPT = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID']
const MOUNT = {
  name: 'claim',
  mountPath: '/claim',
  subPath: 'a',
  mountPropagation: 'None',
  readOnly: true,
  subPathExpr: '$(A)',
}
const VOLUMES = [
  { name: 'config', configMap: { name: 'c' } },
  { name: 'secret', secret: { secretName: 's', defaultMode: 256 } },
  { name: 'empty', emptyDir: { medium: null, sizeLimit: '1Gi' } },
  { name: 'claim', persistentVolumeClaim: { claimName: 'p' } },
  { name: 'nfs', nfs: { server: 'nfs.example.com', path: '/' } },
  { name: 'projected', projected: { sources: [{ secret: { name: 's' } }] } },
  { name: 'downward', downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  { name: 'csi', csi: { driver: 'd.example.com' } },
  { name: 'nothing' },
]
const VOLUME_PATHS = {
  'volumes.config.name': 'config',
  'volumes.config.configMap.name': 'c',
  'volumes.config.configMap.defaultMode': 420,
  'volumes.secret.name': 'secret',
  'volumes.secret.secret.secretName': 's',
  'volumes.secret.secret.defaultMode': 256,
  'volumes.empty.name': 'empty',
  'volumes.empty.emptyDir.sizeLimit': '1Gi',
  'volumes.claim.name': 'claim',
  'volumes.claim.persistentVolumeClaim.claimName': 'p',
  'volumes.nfs.name': 'nfs',
  'volumes.nfs.nfs.server': 'nfs.example.com',
  'volumes.nfs.nfs.path': '/',
  'volumes.projected.name': 'projected',
  'volumes.projected.projected.sources.0.secret.name': 's',
  'volumes.projected.projected.defaultMode': 420,
  'volumes.downward.name': 'downward',
  'volumes.downward.downwardAPI.items.0.path': 'l',
  'volumes.downward.downwardAPI.items.0.fieldRef.fieldPath': 'metadata.labels',
  'volumes.downward.downwardAPI.defaultMode': 420,
  'volumes.csi.name': 'csi',
  'volumes.csi.csi.driver': 'd.example.com',
  'volumes.nothing.name': 'nothing',
  'volumes.nothing.emptyDir': {},
}
const container = (name: string) => ({
  name,
  image: 'busybox:1',
  imagePullPolicy: 'Always',
  workingDir: '/w',
  restartPolicy: 'Always',
  command: ['sh'],
  args: ['-c', 'true'],
  env: [
    { name: 'A', value: 'b' },
    { name: 'C', value: null, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
  ],
  envFrom: [{ configMapRef: { name: 'm' }, prefix: 'P_' }],
  resources: { limits: { cpu: '1' }, requests: { cpu: '500m' } },
  volumeMounts: [MOUNT],
  securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'] } },
})
const mountPaths = (at: string): Paths => below(`${at}.volumeMounts./claim`, MOUNT)
const containerPaths = (at: string, name: string): Paths => ({
  ...below(at, {
    name,
    image: 'busybox:1',
    imagePullPolicy: 'Always',
    workingDir: '/w',
    restartPolicy: 'Always',
    command: ['sh'],
    args: ['-c', 'true'],
    'env.A.name': 'A',
    'env.A.value': 'b',
    'env.C.name': 'C',
    'env.C.valueFrom.fieldRef.fieldPath': 'metadata.name',
    'env.C.valueFrom.fieldRef.apiVersion': 'v1',
    'env.E.name': 'E',
    'env.E.valueFrom.secretKeyRef.name': 's',
    'env.E.valueFrom.secretKeyRef.key': 'k',
    'envFrom.0.configMapRef.name': 'm',
    'envFrom.0.prefix': 'P_',
    'resources.limits.cpu': '1',
    'resources.requests.cpu': '500m',
    'securityContext.allowPrivilegeEscalation': false,
    'securityContext.runAsUser': 1000,
    'securityContext.capabilities.drop': ['ALL'],
  }),
  ...mountPaths(at),
})

/** `beside`: the fields that this field needs to be valid or to have an effect. */
type Row = [field: keyof ResourceSpec, value: unknown, expected: Paths, beside?: ResourceSpec]

const SCALED: ResourceSpec = { max_scale: 7 }
const probe = (path: string, periodSeconds: number, timeoutSeconds: number, failureThreshold: number): Paths => ({
  'httpGet.path': path,
  'httpGet.port': 8000,
  periodSeconds,
  timeoutSeconds,
  failureThreshold,
})
const replicas = (role: 'server' | 'queue', min: number): Paths => ({
  [`Deployment/${role}:spec.replicas`]: min,
  [`HPA/${role}:spec.minReplicas`]: min,
})
const resource = (container: string, name: 'cpu' | 'memory', request: string | null, limit: string): Paths => ({
  ...(request === null ? {} : { [`${container}.resources.requests.${name}`]: request }),
  [`${container}.resources.limits.${name}`]: limit,
})

/**
 * A row that depends on another field comes after it, so the rows together also give the expected result of all
 * fields.
 */
const ROWS: Row[] = [
  ['max_scale', 7, { ...several('server', 1, 7), ...several('queue', 1, 7) }],
  ['min_scale', 3, { ...replicas('server', 3), ...replicas('queue', 3) }, SCALED],
  ['queue_max_scale', 9, { 'HPA/queue:spec.maxReplicas': 9 }, SCALED],
  ['queue_min_scale', 2, replicas('queue', 2), SCALED],
  ['cpu', 1.26, { ...resource(SA, 'cpu', '1300m', '2600m'), ...resource(QA, 'cpu', '1300m', '2600m') }],
  ['cpu_limit', 4, resource(SA, 'cpu', null, '4')],
  ['memory_mb', 512, { ...resource(SA, 'memory', '512M', '1024M'), ...resource(QA, 'memory', '512M', '1024M') }],
  ['memory_limit_mb', 3000, resource(SA, 'memory', null, '3G')],
  ['queue_cpu', 0.5, resource(QA, 'cpu', '500m', '1')],
  ['queue_cpu_limit', 1.5, resource(QA, 'cpu', null, '1500m')],
  ['queue_memory_mb', 100, resource(QA, 'memory', '100M', '200M')],
  ['queue_memory_limit_mb', 300, resource(QA, 'memory', null, '300M')],
  ['orchestrator_cpu', 2, {}],
  ['orchestrator_cpu_limit', 4, {}],
  ['orchestrator_memory_mb', 10, {}],
  ['orchestrator_memory_limit_mb', 20, {}],
  ['orchestrator_min_scale', 2, {}],
  ['orchestrator_max_scale', 5, {}],
  ['executor_cpu', 2, {}],
  ['executor_cpu_limit', 4, {}],
  ['executor_memory_mb', 10, {}],
  ['executor_memory_limit_mb', 20, {}],
  ['cache_cpu', 0.1, resource(C, 'cpu', '100m', '200m')],
  ['cache_cpu_limit', 0.3, resource(C, 'cpu', null, '300m')],
  ['cache_memory_mb', 64, { ...resource(C, 'memory', '64M', '64M'), [`${C}.args`]: redisArgs('48000000') }],
  ['cache_memory_limit_mb', 100, { ...resource(C, 'memory', null, '100M'), [`${C}.args`]: redisArgs('75000000') }],
  ['db_cpu', 20, resource(D, 'cpu', '20', '40')],
  ['db_cpu_limit', 24.5, resource(D, 'cpu', null, '24500m')],
  ['db_memory_mb', 256, resource(D, 'memory', '256M', '512M')],
  ['db_memory_limit_mb', 1000, resource(D, 'memory', null, '1G')],
  ['db_storage_gi', 2048, { 'PersistentVolumeClaim/database:spec.resources.requests.storage': '2Ti' }],
  ['db_max_connections', 250, { [`${D}.args`]: ['-c', 'max_connections=250'] }],
  ['volumes', VOLUMES, both(VOLUME_PATHS)],
  ['volume_mounts', [MOUNT], both(mountPaths('containers.agent')), { volumes: VOLUMES }],
  [
    'init_containers',
    [{ name: 'plain', image: null }, container('first')],
    both({
      'initContainers.plain.name': 'plain',
      'initContainers.plain.securityContext.allowPrivilegeEscalation': false,
      'initContainers.plain.securityContext.capabilities.drop': ['ALL'],
      'initContainers.plain.securityContext.capabilities.add': KEPT,
      ...containerPaths('initContainers.first', 'first'),
    }),
    { volumes: VOLUMES },
  ],
  [
    'sidecars',
    [{ ...container('beside'), restartPolicy: 'OnFailure' }, container('native')],
    both({
      ...containerPaths('containers.beside', 'beside'),
      'containers.beside.restartPolicy': 'OnFailure',
      ...containerPaths('initContainers.native', 'native'),
    }),
    { volumes: VOLUMES },
  ],
  [
    'service_account_name',
    'agent',
    // and its agents may ask the cloud for the account's rights
    {
      ...both({ serviceAccountName: 'agent', automountServiceAccountToken: undefined }),
      ...Object.fromEntries(pathsOfPolicy().map((path) => [path, undefined])),
    },
  ],
  [
    'image_pull_secrets',
    [{ name: 'registry' }],
    Object.fromEntries(PODS.map((o) => [`${o}:spec.template.spec.imagePullSecrets.registry.name`, 'registry'])),
  ],
  ['labels', { team: 'a' }, everywhere('labels.team', 'a')],
  ['annotations', { 'a.b/note': 'Ü' }, everywhere('annotations.a.b/note', 'Ü')],
  ['ingress_annotations', { 'a.b/time-out': '60' }, {}],
  ['queue_scaling', { metric: 'cpu', target: 60 }, { 'HPA/queue:spec.targetCPUUtilizationPercentage': 60 }, SCALED],
  [
    'queue_health_path',
    '/ok?check_db=0',
    {
      ...below(`${QA}.startupProbe`, probe('/ok?check_db=0', 2, 5, 1800)),
      ...below(`${QA}.livenessProbe`, probe('/ok?check_db=0', 15, 10, 4)),
    },
  ],
  // alone it has no effect, because minimum equals maximum
  ['autoscaler', 'none', {}],
  [
    'termination_grace_seconds',
    900,
    {
      'Deployment/server:spec.template.spec.terminationGracePeriodSeconds': 910,
      'Deployment/queue:spec.template.spec.terminationGracePeriodSeconds': 900,
      ...Object.fromEntries(
        [SA, QA].flatMap((agent) => [
          [`${agent}.env.BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS.name`, 'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS'],
          [`${agent}.env.BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS.value`, '890'],
        ]),
      ),
    },
  ],
  ['class', 'gpu', both({ 'tolerations.0.key': 'gpu', 'tolerations.0.operator': 'Exists' })],
]

/** Paths of the policy that keeps agents from the metadata address. */
function pathsOfPolicy(): string[] {
  return Object.keys(pathsOf(render())).filter((path) => path.startsWith('NetworkPolicy/:'))
}

function redisArgs(maxmemory: string): string[] {
  const always = ['redis-server', '--dir', '/data', '--save', '', '--appendonly', 'no']
  const password = ['--requirepass', '$(REDIS_PASSWORD)']
  return [...always, ...password, '--maxmemory', maxmemory, '--maxmemory-policy', 'noeviction']
}

describe('a field of the resource spec', () => {
  test.each(ROWS)('%s appears where it belongs and nowhere else', (field, value, expected, beside) => {
    const manifests = render({ ...beside, [field]: value })
    expect(changes(pathsOf(render(beside)), pathsOf(manifests))).toStrictEqual(expected)
    expect(manifests.flatMap(schemaErrors)).toEqual([])
  })

  test.each(ROWS)('a %s of null equals an absent one', (field, _value, _expected, beside) => {
    const rest = Object.fromEntries(Object.entries(beside ?? {}).filter(([name]) => name !== field))
    expect(render({ ...rest, [field]: null })).toEqual(render(rest))
  })
})

test('all fields together have the sum of their single effects', () => {
  // render-pods.test.ts tests the removal of the autoscaler
  const values = ROWS.map(([field, value]) => [field, field === 'autoscaler' ? 'cpu' : value])
  const manifests = render(Object.fromEntries(values))
  const expected: Paths = {}
  for (const [, , paths] of ROWS) Object.assign(expected, paths)
  // objects that most rows lack have the same labels
  for (const object of ['HPA/server', 'HPA/queue', 'PDB/server', 'PDB/queue']) {
    expected[`${object}:metadata.labels.team`] = 'a'
    expected[`${object}:metadata.annotations.a.b/note`] = 'Ü'
  }
  // a removed object has none
  delete expected['NetworkPolicy/:metadata.labels.team']
  delete expected['NetworkPolicy/:metadata.annotations.a.b/note']
  expect(changes(pathsOf(render()), pathsOf(manifests))).toStrictEqual(expected)
  expect(manifests.flatMap(schemaErrors)).toEqual([])
})

test('an empty spec gives valid manifests without requests and limits', () => {
  const manifests = render()
  expect(manifests.flatMap(schemaErrors)).toEqual([])
  expect(Object.keys(pathsOf(manifests)).filter((path) => /\.(limits|requests)\./.test(path))).toEqual([
    'PersistentVolumeClaim/database:spec.resources.requests.storage',
  ])
})

/** Members of a list's items in the schema. */
function membersOf(field: 'volumes' | 'volume_mounts' | 'sidecars'): string[] {
  const list = resourceSpec.shape[field].unwrap().unwrap() as unknown as { element: { shape: object } }
  return Object.keys(list.element.shape).sort()
}
const valueIn = (name: string) => ROWS.find(([field]) => field === name)![1] as object[]
const said = (items: object[]) => [...new Set(items.flatMap(Object.keys))].sort()

test('a database with few connections reserves none of them for superusers', () => {
  expect(pathsOf(render({ db_max_connections: 3 }))).toMatchObject({
    [`${D}.args`]: ['-c', 'max_connections=3', '-c', 'superuser_reserved_connections=0'],
  })
})

test('the table has a row for every field of a resource spec and every member of its lists', () => {
  expect(ROWS.map(([field]) => field).sort()).toEqual(Object.keys(resourceSpec.shape).sort())
  expect(said(valueIn('volumes'))).toEqual(membersOf('volumes'))
  expect(said(valueIn('volume_mounts'))).toEqual(membersOf('volume_mounts'))
  for (const list of ['init_containers', 'sidecars']) expect(said(valueIn(list))).toEqual(membersOf('sidecars'))
})

test('an empty list equals an absent one', () => {
  const lists = Object.entries(resourceSpec.shape).filter(([, type]) => type.safeParse([]).success)
  expect(lists).toHaveLength(5)
  expect(render(Object.fromEntries(lists.map(([field]) => [field, []])))).toEqual(render())
})
