// What the chart installs: valid objects that belong together, within the Pod Security Standard `restricted`.
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { renderChart } from '../../src/listener/manifest.ts'
import { readBuilderSettings } from '../../src/platform/config/builder-settings.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { readDoorSettings } from '../../src/platform/config/door-settings.ts'
import { readListenerSettings } from '../../src/platform/config/listener-settings.ts'
import { schemaErrors } from '../kubernetes/render-support.ts'
import {
  COMBINATIONS,
  chartObjects,
  hasHelm,
  helmObjects,
  LISTENER_ID,
  listenerRules,
  readChart,
  type Values,
} from '../support/chart.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Any = any
/** kinds of operators, whose schemas the tests don't have */
const CUSTOM = ['PodMonitor', 'PrometheusRule', 'ReferenceGrant', 'ServiceMonitor']

const of = (values: Values, release = 'pilothouse') => chartObjects({ release, namespace: 'control', values })
const everything = of(COMBINATIONS.everything!)
const one = (objects: Any[], kind: string, name = 'pilothouse') => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name)
  expect(found).toHaveLength(1)
  return found[0]
}
const keyOf = ({ kind, metadata: { namespace, name } }: Any) => `${kind} ${namespace}/${name}`
const podOf = ({ kind, spec }: Any) => (kind === 'Pod' ? spec : spec.template.spec)
const workloads = (objects: Any[]) => objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Pod')
const labelsOf = ({ kind, metadata, spec }: Any): Values => (kind === 'Pod' ? metadata : spec.template.metadata).labels
const isSelected = (selector: Values, labels: Values) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

/** The environment of a container, with these values for its Secrets. */
function environment(objects: Any[], name: string, secrets: Record<string, string>): Record<string, string> {
  const [container] = podOf(one(objects, 'Deployment', name)).containers
  return {
    ...(container.envFrom ? secrets : {}),
    ...Object.fromEntries(
      container.env.map(({ name, value, valueFrom }: Any) => [name, value ?? secrets[valueFrom.secretKeyRef.key]]),
    ),
  }
}

/** What the standard `restricted` refuses in a pod. */
function privileges(pod: Any): string[] {
  const { securityContext: { runAsNonRoot, runAsUser, seccompProfile } = {} as Any, volumes = [] } = pod
  const allowed = [
    'configMap',
    'csi',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ]
  return [
    ...(runAsNonRoot === true && runAsUser !== 0 ? [] : ['runs as root']),
    ...(seccompProfile?.type === 'RuntimeDefault' ? [] : ['no seccomp profile']),
    ...(['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => pod[name]),
    ...volumes.flatMap(({ name: _name, ...source }: Any) =>
      Object.keys(source).filter((kind) => !allowed.includes(kind)),
    ),
    ...pod.containers.flatMap(({ securityContext: own = {}, ports = [] }: Any) => [
      ...(own.allowPrivilegeEscalation === false ? [] : ['privilege escalation']),
      ...(own.readOnlyRootFilesystem === true ? [] : ['a writable root']),
      ...(own.capabilities?.drop?.includes('ALL') && !own.capabilities.add ? [] : ['capabilities']),
      ...(own.privileged || own.runAsUser === 0 ? ['privileged'] : []),
      ...ports.flatMap(({ hostPort }: Any) => (hostPort ? ['a port of the node'] : [])),
    ]),
  ]
}

describe.each(Object.entries(COMBINATIONS))('with the values: %s', (_name, values) => {
  const objects = of(values)
  const long = of(values, 'r'.repeat(53))

  test('every object is valid, and none is there twice', () => {
    const known = objects.filter(({ kind }) => !CUSTOM.includes(kind))
    expect(known.flatMap((object) => schemaErrors(object).map((error) => `${keyOf(object)}${error}`))).toEqual([])
    expect(new Set(objects.map(keyOf)).size).toBe(objects.length)
    for (const { metadata } of objects) expect(metadata.namespace).toMatch(/./)
  })

  test('names and labels have at most 63 characters, also with the longest name of a release', () => {
    const texts = [...objects, ...long].flatMap(({ metadata: { name, labels } }) => [name, ...Object.values(labels)])
    expect(texts.filter((text) => typeof text !== 'string' || text.length > 63)).toEqual([])
    for (const { metadata } of [...objects, ...long]) expect(metadata.name).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/)
  })

  test('every selector selects the pods of one workload', () => {
    for (const object of objects.filter(({ kind }) => kind !== 'HorizontalPodAutoscaler')) {
      const { spec = {} } = object
      const selector = object.kind === 'Service' ? spec.selector : (spec.podSelector ?? spec.selector)?.matchLabels
      if (!selector || object.kind === 'ServiceMonitor') continue
      const selected = workloads(objects).filter((workload) => isSelected(selector, labelsOf(workload)))
      expect(selected.map(keyOf), keyOf(object)).toHaveLength(1)
      if (object.kind === 'Deployment') expect(selected[0]).toBe(object)
    }
  })

  test('every pod is within the standard `restricted`', () => {
    const found = workloads(objects).map((object) => [keyOf(object), privileges(podOf(object))])
    expect(found).toEqual(found.map(([name]) => [name, []]))
    // the API's token is there only for programs that call it
    for (const object of workloads(objects)) {
      const { automountServiceAccountToken, serviceAccountName } = podOf(object)
      const binding = objects.find(
        ({ kind, subjects }) => kind === 'RoleBinding' && subjects[0].name === serviceAccountName,
      )
      expect(automountServiceAccountToken !== false, keyOf(object)).toBe(binding !== undefined)
    }
  })

  test('accounts, ports and volumes that a pod names are there', () => {
    for (const object of workloads(objects)) {
      const { serviceAccountName, containers, volumes = [] } = podOf(object)
      if (serviceAccountName) one(objects, 'ServiceAccount', serviceAccountName)
      for (const container of containers) {
        const ports = (container.ports ?? []).map(({ name }: Any) => name)
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
          if (container[probe]) expect(ports).toContain(container[probe].httpGet.port)
        const names = volumes.map(({ name }: Any) => name)
        for (const { name } of container.volumeMounts ?? []) expect(names).toContain(name)
        expect(new Set(container.env.map(({ name }: Any) => name)).size).toBe(container.env.length)
      }
    }
  })

  test('the notes are for people: no braces, and every command names the namespace', () => {
    const notes = renderChart({ release: 'pilothouse', namespace: 'control', values }).get('NOTES.txt')!
    expect(notes).not.toContain('{{')
    for (const command of notes.match(/^ {2}\S.*/gm) ?? []) expect(command).toContain('--namespace control')
  })

  test.skipIf(!hasHelm)('helm renders the same objects', () => {
    const sorted = (list: Any[]) => list.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const release = { release: 'pilothouse', namespace: 'control', values }
    expect(sorted(objects)).toEqual(sorted(helmObjects(release)))
    expect(sorted(long)).toEqual(sorted(helmObjects({ ...release, release: 'r'.repeat(53) })))
  })
})

const SECRETS = {
  DATABASE_URL: 'postgresql://pilothouse:secret@db.example.com/pilothouse',
  SECRETS_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  CONTROL_PLANE_API_KEY: `cpk_${'0'.repeat(40)}`,
}

describe('the server', () => {
  const deployment = one(everything, 'Deployment')
  const [container] = podOf(deployment).containers

  test('it reads settings that a clustered server needs: no process runtime, all interfaces, its URL', () => {
    const config = readConfig(environment(of(COMBINATIONS.minimal!), 'pilothouse', SECRETS))
    expect(config).toMatchObject({
      ...{ HOST: '0.0.0.0', PORT: 8080, DATA_DIR: '/data', RUNTIME: 'none', DATABASE_URL: SECRETS.DATABASE_URL },
      PUBLIC_URL: 'http://pilothouse.control:8080',
    })
    const { container: _, ...all } = { container, ...environment(everything, 'pilothouse', SECRETS) }
    // the files of the registry's key are in the pod only
    expect(all).toMatchObject({
      ...{
        RUNTIME: 'kubernetes',
        K8S_NAMESPACE: 'agents-of-the-server',
        BUILDER: 'none',
        STORAGE_S3_BUCKET: 'uploads',
      },
      ...{ REGISTRY_TOKEN_KEY: '/registry/tls.key', REGISTRY_TOKEN_CERTIFICATE: '/registry/tls.crt' },
      ...{ PUBLIC_URL: 'https://pilothouse.example.com', HTTPS_PROXY: 'http://proxy:3128' },
    })
  })

  test.each([
    [{}, 'http://pilothouse.control:8080'],
    [{ ingress: { enabled: true, hosts: ['a.example.com', 'b.example.com'] } }, 'http://a.example.com'],
    [{ ingress: { enabled: true, hosts: ['a.example.com'], tls: [{ secretName: 'x' }] } }, 'https://a.example.com'],
    [
      { httpRoute: { enabled: true, parentRefs: [{ name: 'g' }], hostnames: ['r.example.com'] } },
      'https://r.example.com',
    ],
    [{ server: { existingSecret: 's', publicUrl: 'https://p.example.com' } }, 'https://p.example.com'],
  ])('with %j its public URL is %s', (values, url) => {
    const objects = of({ server: { existingSecret: 's' }, ...values })
    expect(environment(objects, 'pilothouse', {}).PUBLIC_URL).toBe(url)
  })

  test('it starts only with a DATABASE_URL and keys: without them it would create a database and keys in its pod', () => {
    const required = container.env
      .filter(({ valueFrom }: Any) => valueFrom)
      .map(({ valueFrom }: Any) => valueFrom.secretKeyRef)
    expect(required).toEqual([
      { name: 'door-token', key: 'DOOR_TOKEN' },
      { name: 'pilothouse', key: 'DATABASE_URL' },
      { name: 'pilothouse', key: 'SECRETS_KEYS' },
    ])
    expect(container.envFrom).toEqual([{ secretRef: { name: 'pilothouse' } }])
  })

  test('a database that is away restarts nothing, and a start may wait for it and for migrations', () => {
    expect(container.livenessProbe.httpGet.path).toBe('/healthz')
    expect(container.readinessProbe.httpGet.path).toBe('/readyz')
    const { DATABASE_WAIT_SECONDS } = readConfig(environment(of(COMBINATIONS.minimal!), 'pilothouse', SECRETS))
    const { periodSeconds, failureThreshold } = container.startupProbe
    // migrations retry for about three minutes
    expect(periodSeconds * failureThreshold).toBeGreaterThan(DATABASE_WAIT_SECONDS + 200)
  })

  test('an autoscaler decides the replicas, and nothing sets them in addition', () => {
    const { spec } = one(everything, 'HorizontalPodAutoscaler')
    expect(spec.scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'pilothouse' })
    expect(deployment.spec).not.toHaveProperty('replicas')
    expect(one(of(COMBINATIONS.minimal!), 'Deployment').spec.replicas).toBe(2)
  })

  test('Ingress and HTTPRoute lead to its Service, and the Service to its port', () => {
    const { spec } = one(everything, 'Service')
    expect(container.ports.map(({ name }: Any) => name)).toContain(spec.ports[0].targetPort)
    const rules = one(everything, 'Ingress').spec.rules
    expect(rules.map(({ host }: Any) => host)).toEqual(['pilothouse.example.com', 'ph.example.com'])
    expect(rules[0].http.paths[0].backend.service).toEqual({ name: 'pilothouse', port: { name: spec.ports[0].name } })
    const route = one(everything, 'HTTPRoute').spec
    expect(route.rules[0].backendRefs).toEqual([{ name: 'pilothouse', port: spec.ports[0].port }])
    expect(route).toMatchObject({
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['x.example.com'],
    })
  })

  test('on the cluster itself it has the rights of a listener in the namespace of its deployments, and nowhere else', () => {
    const roles = everything.filter(({ kind }) => kind === 'Role')
    const own = roles.filter(({ metadata }) => metadata.name === 'pilothouse')
    expect(own.map(({ metadata }) => metadata.namespace)).toEqual(['agents-of-the-server'])
    expect(own[0].rules).toEqual(roles.find(({ metadata }) => metadata.name !== 'pilothouse').rules)
    expect(of(COMBINATIONS.minimal!).filter(({ kind }) => /Role/.test(kind))).toEqual([])
  })
})

test('listener and builder read valid settings, and call the server of their release', () => {
  const name = everything.find(({ kind, metadata }) => kind === 'Deployment' && /listener/.test(metadata.name)).metadata
    .name
  const internal = { CONTROL_PLANE_URL: 'http://pilothouse.control:8080' }
  const listener = readListenerSettings(environment(everything, name, SECRETS))
  expect(listener).toMatchObject({ ...internal, LISTENER_PORT: 8081 })
  const builder = readBuilderSettings(environment(everything, 'pilothouse-builder', SECRETS))
  expect(builder).toMatchObject({ ...internal, BUILDER_PORT: 8082, DATA_DIR: '/data' })
  expect(podOf(one(everything, 'Deployment', 'pilothouse-builder')).containers[0].image).toBe(
    'registry.example.com/builder:1',
  )
})

test('a listener has rights on HTTPRoutes only with GATEWAY, which may be empty while the routes are removed', () => {
  const groups = (settings: Values) => listenerRules(settings).flatMap(({ apiGroups }) => apiGroups)
  expect(groups({})).not.toContain('gateway.networking.k8s.io')
  for (const GATEWAY of ['gateways/public', '']) expect(groups({ GATEWAY })).toContain('gateway.networking.k8s.io')
})

describe('the door', () => {
  const APPS = { APPS_URL: 'https://{name}.apps.example.com', DOOR_NAMESPACE: 'control' }
  const service = { DOOR_SERVICE: 'pilothouse-door.control.svc.cluster.example:80' }
  const secrets = { ...SECRETS, DOOR_TOKEN: 'token-of-all-doors-of-this-cluster' }
  const listenerName = everything.find(({ kind, metadata }) => kind === 'Deployment' && /listener/.test(metadata.name))
    .metadata.name

  test('it shares a token with the servers, and server and listener give its addresses', () => {
    const { DOOR_TOKEN } = secrets
    const door = readDoorSettings(environment(everything, 'pilothouse-door', secrets))
    const own = { CONTROL_PLANE_URL: 'http://pilothouse.control:8080', DATA_DIR: '/data', APPS_ACCESS_LOG: '-' }
    expect(door).toMatchObject({ ...own, DOOR_TOKEN })
    const server = environment(everything, 'pilothouse', secrets)
    const listener = readListenerSettings(environment(everything, listenerName, secrets))
    expect(server).toMatchObject({ ...APPS, ...service, DOOR_TOKEN, DOOR_LISTENERS: listener.LISTENER_ID })
    const doorService = { host: 'pilothouse-door.control.svc.cluster.example', port: 80 }
    expect(listener).toMatchObject({ ...APPS, DOOR_SERVICE: doorService })
    const minimal = { ...SECRETS, ...environment(of(COMBINATIONS.minimal!), 'pilothouse', SECRETS) }
    expect(Object.keys(minimal).filter((name) => /^(APPS|DOOR)_/.test(name))).toEqual([])
  })

  test('with doors in several clusters, servers know all listeners, and each door its own and its domain', () => {
    const { server, door, ...values } = COMBINATIONS.everything as { server: Values; door: Values }
    const [all, own] = [`${LISTENER_ID},7d1a8a53-52b0-4a43-8f0e-0f6c1f2f7a22`, LISTENER_ID]
    const objects = of({
      ...values,
      server: { ...server, settings: { DOOR_LISTENERS: all } },
      door: { ...door, settings: { DOOR_LISTENERS: own } },
    })
    const [container] = podOf(one(objects, 'Deployment')).containers
    expect(container.env.filter(({ name }: Any) => name === 'DOOR_LISTENERS')).toEqual([
      { name: 'DOOR_LISTENERS', value: all },
    ])
    expect(readDoorSettings(environment(objects, 'pilothouse-door', secrets))).toMatchObject({
      ...{ DOOR_LISTENERS: [own], APPS_URL: APPS.APPS_URL },
    })
  })

  test('its pods have two replicas, a budget, and an account without rights', () => {
    const { spec } = one(everything, 'Deployment', 'pilothouse-door')
    expect(spec).toMatchObject({ replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
    expect(one(everything, 'PodDisruptionBudget', 'pilothouse-door').spec.maxUnavailable).toBe(1)
    expect(spec.template.spec.serviceAccountName).toBe('pilothouse-door')
    const bound = everything.filter(
      ({ kind, subjects }) => /Binding/.test(kind) && subjects[0].name === 'pilothouse-door',
    )
    expect(bound).toEqual([])
    // agents’ policies select it by this label
    expect(spec.template.metadata.labels).toMatchObject({ 'app.kubernetes.io/name': 'pilothouse-door' })
  })

  test('one Ingress or HTTPRoute for all names leads to its Service', () => {
    const ingress = one(everything, 'Ingress', 'pilothouse-door')
    expect(ingress.metadata.annotations).toEqual({ 'cert-manager.io/cluster-issuer': 'letsencrypt' })
    expect(ingress.spec.tls).toEqual([{ hosts: ['*.apps.example.com'], secretName: 'apps-tls' }])
    const [{ host, http }] = ingress.spec.rules
    expect([host, http.paths[0].backend.service]).toEqual([
      '*.apps.example.com',
      { name: 'pilothouse-door', port: { name: 'http' } },
    ])
    const route = one(everything, 'HTTPRoute', 'pilothouse-door').spec
    expect(route.hostnames).toEqual(['*.apps.example.com'])
    expect(route.rules[0].backendRefs).toEqual([{ name: 'pilothouse-door', port: 80 }])
    expect(one(of(COMBINATIONS['a door alone']!), 'Ingress', 'pilothouse-door').spec).not.toHaveProperty('tls')
  })

  test('HTTPRoutes of custom URLs in the namespaces of deployments may lead to its Service, only with GATEWAY', () => {
    const { from, to } = one(everything, 'ReferenceGrant', 'pilothouse-door').spec
    expect(from.map(({ namespace }: Any) => namespace)).toEqual(['agents', 'more-agents', 'agents-of-the-server'])
    expect(to).toEqual([{ group: '', kind: 'Service', name: 'pilothouse-door' }])
    expect(of(COMBINATIONS['a door alone']!).filter(({ kind }) => kind === 'ReferenceGrant')).toEqual([])
  })

  test('everybody may call it, but its metrics have named readers', () => {
    const [health, http] = one(everything, 'NetworkPolicy', 'pilothouse-door').spec.ingress
    expect(health).toMatchObject({ ports: [{ port: 'health' }], from: [{}] })
    expect(http).toEqual({ ports: [{ port: 'http' }] })
  })
})

test('the home of a builder is a volume, where podman can write', () => {
  const [{ volumeMounts }] = podOf(one(everything, 'Deployment', 'pilothouse-builder')).containers
  const { HOME } = environment(everything, 'pilothouse-builder', SECRETS)
  expect(volumeMounts.map(({ mountPath }: Any) => mountPath)).toContain(HOME)
})

test('policies admit the listener, the doors, the builders and the test pod of the release in addition to the named peers', () => {
  const { spec } = one(everything, 'NetworkPolicy')
  const [{ from, ports }] = spec.ingress
  expect(ports).toEqual([{ port: 'http' }])
  const pods = from.flatMap(({ podSelector }: Any) => (podSelector ? [podSelector.matchLabels] : []))
  const admitted = workloads(everything).filter((o) => pods.some((s: Values) => isSelected(s, labelsOf(o))))
  expect(admitted.map(({ metadata }) => metadata.name).sort()).toEqual([
    'pilothouse-builder',
    'pilothouse-door',
    expect.stringMatching(/^pilothouse-listener-/),
    'pilothouse-test',
  ])
  expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
  const open = of({ ...COMBINATIONS.minimal, networkPolicy: { enabled: true } })
  expect(one(open, 'NetworkPolicy').spec).toMatchObject({
    ingress: [{ ports: [{ port: 'http' }] }],
    policyTypes: ['Ingress'],
  })
})

test('alerts and dashboard are the files that operators without the chart use', () => {
  expect(one(everything, 'PrometheusRule').spec).toEqual(parse(readChart('monitoring/alerts.yml')))
  const { data, metadata } = one(everything, 'ConfigMap', 'pilothouse-dashboard')
  expect(JSON.parse(data['pilothouse.json'])).toEqual(JSON.parse(readChart('monitoring/grafana-dashboard.json')))
  expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' })
  const monitor = one(everything, 'ServiceMonitor')
  expect(isSelected(monitor.spec.selector.matchLabels, one(everything, 'Service').metadata.labels)).toBe(true)
  // the alert PilothouseDown selects this job
  expect(monitor.spec.endpoints[0].relabelings).toEqual([{ targetLabel: 'job', replacement: 'pilothouse' }])
  expect(readChart('monitoring/alerts.yml')).toContain('up{job="pilothouse"}')
})
