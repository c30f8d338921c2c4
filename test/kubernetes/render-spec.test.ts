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

/** The same paths below the pods of server and queue. */
const both = (paths: Paths): Paths =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([path, value]) => [
      [`${SP}.${path}`, value],
      [`${QP}.${path}`, value],
    ]),
  )

const metadata = (object: string, role: 'server' | 'queue'): Paths => ({
  [`${object}:metadata.name`]: `ph-${deployment.deploymentId}-${role}`,
  [`${object}:metadata.namespace`]: 'agents',
  [`${object}:metadata.labels.app.kubernetes.io/instance`]: `ph-${deployment.deploymentId}`,
  [`${object}:metadata.labels.app.kubernetes.io/part-of`]: 'pilothouse',
  [`${object}:metadata.labels.app.kubernetes.io/managed-by`]: 'pilothouse',
  [`${object}:metadata.labels.app.kubernetes.io/name`]: 'agent-server',
  [`${object}:metadata.labels.app.kubernetes.io/component`]: role,
  [`${object}:metadata.labels.pilothouse.dev/deployment-id`]: deployment.deploymentId,
  [`${object}:metadata.labels.pilothouse.dev/workspace-id`]: deployment.workspaceId,
  [`${object}:metadata.annotations.pilothouse.dev/name`]: 'Support bot',
})

/** Objects of a component with several replicas: an autoscaler, and a budget for drains. */
const several = (role: 'server' | 'queue', min: number, max: number): Paths => ({
  ...metadata(`PDB/${role}`, role),
  [`PDB/${role}:apiVersion`]: 'policy/v1',
  [`PDB/${role}:kind`]: 'PodDisruptionBudget',
  [`PDB/${role}:spec.maxUnavailable`]: 1,
  [`PDB/${role}:spec.selector.matchLabels.app.kubernetes.io/component`]: role,
  [`PDB/${role}:spec.selector.matchLabels.pilothouse.dev/deployment-id`]: deployment.deploymentId,
  ...metadata(`HPA/${role}`, role),
  [`HPA/${role}:apiVersion`]: 'autoscaling/v1',
  [`HPA/${role}:kind`]: 'HorizontalPodAutoscaler',
  [`HPA/${role}:spec.scaleTargetRef.apiVersion`]: 'apps/v1',
  [`HPA/${role}:spec.scaleTargetRef.kind`]: 'Deployment',
  [`HPA/${role}:spec.scaleTargetRef.name`]: `ph-${deployment.deploymentId}-${role}`,
  [`HPA/${role}:spec.minReplicas`]: min,
  [`HPA/${role}:spec.maxReplicas`]: max,
  [`HPA/${role}:spec.targetCPUUtilizationPercentage`]: 80,
})

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
const mountPaths = (at: string): Paths => ({
  [`${at}.volumeMounts./claim.name`]: 'claim',
  [`${at}.volumeMounts./claim.mountPath`]: '/claim',
  [`${at}.volumeMounts./claim.subPath`]: 'a',
  [`${at}.volumeMounts./claim.mountPropagation`]: 'None',
  [`${at}.volumeMounts./claim.readOnly`]: true,
  [`${at}.volumeMounts./claim.subPathExpr`]: '$(A)',
})
const containerPaths = (at: string, name: string): Paths => ({
  [`${at}.name`]: name,
  [`${at}.image`]: 'busybox:1',
  [`${at}.imagePullPolicy`]: 'Always',
  [`${at}.workingDir`]: '/w',
  [`${at}.restartPolicy`]: 'Always',
  [`${at}.command`]: ['sh'],
  [`${at}.args`]: ['-c', 'true'],
  [`${at}.env.A.name`]: 'A',
  [`${at}.env.A.value`]: 'b',
  [`${at}.env.C.name`]: 'C',
  [`${at}.env.C.valueFrom.fieldRef.fieldPath`]: 'metadata.name',
  [`${at}.env.C.valueFrom.fieldRef.apiVersion`]: 'v1',
  [`${at}.env.E.name`]: 'E',
  [`${at}.env.E.valueFrom.secretKeyRef.name`]: 's',
  [`${at}.env.E.valueFrom.secretKeyRef.key`]: 'k',
  [`${at}.envFrom.0.configMapRef.name`]: 'm',
  [`${at}.envFrom.0.prefix`]: 'P_',
  [`${at}.resources.limits.cpu`]: '1',
  [`${at}.resources.requests.cpu`]: '500m',
  ...mountPaths(at),
  [`${at}.securityContext.allowPrivilegeEscalation`]: false,
  [`${at}.securityContext.runAsUser`]: 1000,
  [`${at}.securityContext.capabilities.drop`]: ['ALL'],
})

interface Row {
  field: keyof ResourceSpec
  value: unknown
  /** fields that must be set too, so that this field is valid or has an effect */
  beside?: ResourceSpec
  expected: Paths
}

/**
 * A row that depends on another field comes after it, so the rows together also give the expected result of all
 * fields.
 */
const ROWS: Row[] = [
  { field: 'max_scale', value: 7, expected: { ...several('server', 1, 7), ...several('queue', 1, 7) } },
  {
    field: 'min_scale',
    value: 3,
    beside: { max_scale: 7 },
    expected: {
      [`${S}.replicas`]: 3,
      'HPA/server:spec.minReplicas': 3,
      [`${Q}.replicas`]: 3,
      'HPA/queue:spec.minReplicas': 3,
    },
  },
  { field: 'queue_max_scale', value: 9, beside: { max_scale: 7 }, expected: { 'HPA/queue:spec.maxReplicas': 9 } },
  {
    field: 'queue_min_scale',
    value: 2,
    beside: { max_scale: 7 },
    expected: { [`${Q}.replicas`]: 2, 'HPA/queue:spec.minReplicas': 2 },
  },
  {
    field: 'cpu',
    value: 1.26,
    expected: {
      [`${SA}.resources.requests.cpu`]: '1300m',
      [`${SA}.resources.limits.cpu`]: '2600m',
      [`${QA}.resources.requests.cpu`]: '1300m',
      [`${QA}.resources.limits.cpu`]: '2600m',
    },
  },
  { field: 'cpu_limit', value: 4, expected: { [`${SA}.resources.limits.cpu`]: '4' } },
  {
    field: 'memory_mb',
    value: 512,
    expected: {
      [`${SA}.resources.requests.memory`]: '512M',
      [`${SA}.resources.limits.memory`]: '1024M',
      [`${QA}.resources.requests.memory`]: '512M',
      [`${QA}.resources.limits.memory`]: '1024M',
    },
  },
  { field: 'memory_limit_mb', value: 3000, expected: { [`${SA}.resources.limits.memory`]: '3G' } },
  {
    field: 'queue_cpu',
    value: 0.5,
    expected: { [`${QA}.resources.requests.cpu`]: '500m', [`${QA}.resources.limits.cpu`]: '1' },
  },
  { field: 'queue_cpu_limit', value: 1.5, expected: { [`${QA}.resources.limits.cpu`]: '1500m' } },
  {
    field: 'queue_memory_mb',
    value: 100,
    expected: { [`${QA}.resources.requests.memory`]: '100M', [`${QA}.resources.limits.memory`]: '200M' },
  },
  { field: 'queue_memory_limit_mb', value: 300, expected: { [`${QA}.resources.limits.memory`]: '300M' } },
  ...(
    [
      ['orchestrator_cpu', 2],
      ['orchestrator_cpu_limit', 4],
      ['orchestrator_memory_mb', 10],
      ['orchestrator_memory_limit_mb', 20],
      ['orchestrator_min_scale', 2],
      ['orchestrator_max_scale', 5],
      ['executor_cpu', 2],
      ['executor_cpu_limit', 4],
      ['executor_memory_mb', 10],
      ['executor_memory_limit_mb', 20],
    ] as const
  ).map(([field, value]): Row => ({ field, value, expected: {} })),
  {
    field: 'cache_cpu',
    value: 0.1,
    expected: { [`${C}.resources.requests.cpu`]: '100m', [`${C}.resources.limits.cpu`]: '200m' },
  },
  { field: 'cache_cpu_limit', value: 0.3, expected: { [`${C}.resources.limits.cpu`]: '300m' } },
  {
    field: 'cache_memory_mb',
    value: 64,
    expected: {
      [`${C}.resources.requests.memory`]: '64M',
      [`${C}.resources.limits.memory`]: '64M',
      [`${C}.args`]: redisArgs('48000000'),
    },
  },
  {
    field: 'cache_memory_limit_mb',
    value: 100,
    expected: { [`${C}.resources.limits.memory`]: '100M', [`${C}.args`]: redisArgs('75000000') },
  },
  {
    field: 'db_cpu',
    value: 20,
    expected: { [`${D}.resources.requests.cpu`]: '20', [`${D}.resources.limits.cpu`]: '40' },
  },
  { field: 'db_cpu_limit', value: 24.5, expected: { [`${D}.resources.limits.cpu`]: '24500m' } },
  {
    field: 'db_memory_mb',
    value: 256,
    expected: { [`${D}.resources.requests.memory`]: '256M', [`${D}.resources.limits.memory`]: '512M' },
  },
  { field: 'db_memory_limit_mb', value: 1000, expected: { [`${D}.resources.limits.memory`]: '1G' } },
  {
    field: 'db_storage_gi',
    value: 2048,
    expected: { 'PersistentVolumeClaim/database:spec.resources.requests.storage': '2Ti' },
  },
  { field: 'db_max_connections', value: 250, expected: { [`${D}.args`]: ['-c', 'max_connections=250'] } },
  { field: 'volumes', value: VOLUMES, expected: both(VOLUME_PATHS) },
  {
    field: 'volume_mounts',
    value: [MOUNT],
    beside: { volumes: VOLUMES },
    expected: both(mountPaths('containers.agent')),
  },
  {
    field: 'init_containers',
    value: [{ name: 'plain', image: null }, container('first')],
    beside: { volumes: VOLUMES },
    expected: both({
      'initContainers.plain.name': 'plain',
      'initContainers.plain.securityContext.allowPrivilegeEscalation': false,
      'initContainers.plain.securityContext.capabilities.drop': ['ALL'],
      'initContainers.plain.securityContext.capabilities.add': KEPT,
      ...containerPaths('initContainers.first', 'first'),
    }),
  },
  {
    field: 'sidecars',
    value: [{ ...container('beside'), restartPolicy: 'OnFailure' }, container('native')],
    beside: { volumes: VOLUMES },
    expected: both({
      ...containerPaths('containers.beside', 'beside'),
      'containers.beside.restartPolicy': 'OnFailure',
      ...containerPaths('initContainers.native', 'native'),
    }),
  },
  {
    field: 'service_account_name',
    value: 'agent',
    // and its agents may ask the cloud for the account's rights
    expected: {
      ...both({ serviceAccountName: 'agent', automountServiceAccountToken: undefined }),
      ...Object.fromEntries(pathsOfPolicy().map((path) => [path, undefined])),
    },
  },
  {
    field: 'image_pull_secrets',
    value: [{ name: 'registry' }],
    expected: Object.fromEntries(
      PODS.map((o) => [`${o}:spec.template.spec.imagePullSecrets.registry.name`, 'registry']),
    ),
  },
  { field: 'labels', value: { team: 'a' }, expected: everywhere('labels.team', 'a') },
  { field: 'annotations', value: { 'a.b/note': 'Ü' }, expected: everywhere('annotations.a.b/note', 'Ü') },
  { field: 'ingress_annotations', value: { 'a.b/time-out': '60' }, expected: {} },
  // alone it has no effect, because minimum equals maximum
  { field: 'autoscaler', value: 'none', expected: {} },
  { field: 'class', value: 'gpu', expected: both({ 'tolerations.0.key': 'gpu', 'tolerations.0.operator': 'Exists' }) },
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
  test.each(ROWS)('$field appears where it belongs and nowhere else', ({ field, value, beside, expected }) => {
    const manifests = render({ ...beside, [field]: value })
    expect(changes(pathsOf(render(beside)), pathsOf(manifests))).toStrictEqual(expected)
    expect(manifests.flatMap(schemaErrors)).toEqual([])
  })

  test.each(ROWS)('a $field of null equals an absent one', ({ field, beside }) => {
    const rest = Object.fromEntries(Object.entries(beside ?? {}).filter(([name]) => name !== field))
    expect(render({ ...rest, [field]: null })).toEqual(render(rest))
  })
})

test('all fields together have the sum of their single effects', () => {
  // render-pods.test.ts tests the removal of the autoscaler
  const values = ROWS.map(({ field, value }) => [field, field === 'autoscaler' ? 'cpu' : value])
  const manifests = render(Object.fromEntries(values))
  const expected: Paths = {}
  for (const row of ROWS) Object.assign(expected, row.expected)
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
const valueIn = (name: string) => ROWS.find(({ field }) => field === name)!.value as object[]
const said = (items: object[]) => [...new Set(items.flatMap(Object.keys))].sort()

test('a database with few connections reserves none of them for superusers', () => {
  expect(pathsOf(render({ db_max_connections: 3 }))).toMatchObject({
    [`${D}.args`]: ['-c', 'max_connections=3', '-c', 'superuser_reserved_connections=0'],
  })
})

test('the table has a row for every field of a resource spec and every member of its lists', () => {
  expect(ROWS.map(({ field }) => field).sort()).toEqual(Object.keys(resourceSpec.shape).sort())
  expect(said(valueIn('volumes'))).toEqual(membersOf('volumes'))
  expect(said(valueIn('volume_mounts'))).toEqual(membersOf('volume_mounts'))
  for (const list of ['init_containers', 'sidecars']) expect(said(valueIn(list))).toEqual(membersOf('sidecars'))
})

test('an empty list equals an absent one', () => {
  const lists = Object.entries(resourceSpec.shape).filter(([, type]) => type.safeParse([]).success)
  expect(lists).toHaveLength(5)
  expect(render(Object.fromEntries(lists.map(([field]) => [field, []])))).toEqual(render())
})
