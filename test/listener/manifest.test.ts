// The manifest that installs a listener: valid objects, minimal permissions, no key, and the given settings.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { loadAllYaml } from '@kubernetes/client-node'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { readListenerSettings } from '../../src/platform/config/listener-settings.ts'
import { command } from '../client/support.ts'
import { schemaErrors } from '../kubernetes/render-support.ts'
import { chartObjects } from '../support/chart.ts'
import { cli } from '../support/process.ts'

vi.setConfig({ testTimeout: 60_000 })

const listenerId = randomUUID()
const NAME = `pilothouse-listener-${listenerId.split('-').at(-1)}`
const ARGS = [
  ...['--namespaces', 'agents,more-agents', '--listener-id', listenerId],
  ...['--control-plane-url', 'https://pilothouse.example.com', '--image', 'registry.example.com/pilothouse:1'],
]
const manifest = (...more: string[]) => cli(['listener', 'manifest', ...ARGS, ...more], {})

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML
type Any = any
let standard: Awaited<ReturnType<typeof manifest>>
beforeAll(async () => {
  standard = await manifest()
})

test('the manifest is valid and in apply order', async () => {
  const { code, stdout } = standard
  expect(code).toBe(0)
  const objects = loadAllYaml(stdout) as Any[]
  expect(objects.flatMap(schemaErrors)).toEqual([])
  expect(objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name])).toEqual([
    ['ServiceAccount', 'pilothouse', NAME],
    ['Role', 'agents', NAME],
    ['RoleBinding', 'agents', NAME],
    ['Role', 'more-agents', NAME],
    ['RoleBinding', 'more-agents', NAME],
    ['Deployment', 'pilothouse', NAME],
  ])
  const [account, , binding] = objects
  expect(binding.subjects).toEqual([
    { kind: 'ServiceAccount', name: account.metadata.name, namespace: account.metadata.namespace },
  ])
  expect(binding.roleRef).toMatchObject({ kind: 'Role', name: NAME })
})

test('the image is by default that of this version', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const { out } = await command(['listener', 'manifest', ...ARGS.slice(0, -2)], {})
  const { image } = (loadAllYaml(out) as Any[]).at(-1).spec.template.spec.containers[0]
  expect(image).toBe(`ghcr.io/pilothouse/pilothouse:${version}`)
})

test('helm installs the same objects from the chart', () => {
  const listener = {
    ...{ enabled: true, listenerId, controlPlaneUrl: 'https://pilothouse.example.com' },
    ...{ image: 'registry.example.com/pilothouse:1', namespaces: ['agents', 'more-agents'] },
  }
  const values = { server: { enabled: false }, listener }
  const objects = chartObjects({ release: 'pilothouse', namespace: 'pilothouse', values })
  expect(loadAllYaml(standard.stdout)).toEqual(objects)
})

test('the manifest gives the listener minimal permissions: no other namespace, no wildcard, no unneeded verbs', async () => {
  const objects = loadAllYaml(standard.stdout) as Any[]
  expect(objects.filter(({ kind }) => /Cluster/.test(kind))).toEqual([])
  const [first, second] = objects.filter(({ kind }) => kind === 'Role')
  expect(first.rules).toEqual(second.rules)
  const rights = first.rules.flatMap(({ resources, verbs }: Any) =>
    resources.flatMap((resource: string) => verbs.map((verb: string) => `${verb} ${resource}`)),
  )
  expect(rights.join()).not.toContain('*')
  for (const forbidden of [
    'create pods',
    'delete pods',
    'create pods/exec',
    'update secrets',
    'deletecollection secrets',
  ])
    expect(rights).not.toContain(forbidden)
  for (const needed of ['patch deployments', 'create secrets', 'get pods/log', 'list events', 'watch ingresses'])
    expect(rights).toContain(needed)
})

describe('the Deployment', () => {
  const pod = async (...more: string[]) => {
    const objects = loadAllYaml((more.length > 0 ? await manifest(...more) : standard).stdout) as Any[]
    const deployment = objects.at(-1)
    return { deployment, spec: deployment.spec.template.spec, container: deployment.spec.template.spec.containers[0] }
  }

  test('the Deployment runs without privileges, with probes and time to release its leases', async () => {
    const { deployment, spec, container } = await pod()
    expect(deployment.spec.replicas).toBe(2)
    expect(deployment.spec.selector.matchLabels).toEqual({ 'app.kubernetes.io/instance': NAME })
    expect(deployment.spec.template.metadata.labels).toMatchObject(deployment.spec.selector.matchLabels)
    // the listener would treat it as one of its deployments
    expect(JSON.stringify(deployment)).not.toContain('managed-by')
    expect(spec).toMatchObject({
      serviceAccountName: NAME,
      terminationGracePeriodSeconds: 30,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(container).toMatchObject({
      image: 'registry.example.com/pilothouse:1',
      livenessProbe: { httpGet: { path: '/healthz', port: 'health' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    })
  })

  test('the Deployment has valid settings, and its key comes from a separate Secret', async () => {
    const { container } = await pod('--set', 'INGRESS_DOMAIN=agents.example.com', '--set', 'MAX_CLAIMS=50')
    const { CONTROL_PLANE_API_KEY, ...rest } = Object.fromEntries(
      container.env.map(({ name, value, valueFrom }: Any) => [name, value ?? valueFrom]),
    )
    expect(CONTROL_PLANE_API_KEY).toEqual({ secretKeyRef: { name: NAME, key: 'CONTROL_PLANE_API_KEY' } })
    expect(readListenerSettings({ ...rest, CONTROL_PLANE_API_KEY: 'k'.repeat(20) })).toMatchObject({
      LISTENER_ID: listenerId,
      CONTROL_PLANE_URL: 'https://pilothouse.example.com',
      INGRESS_DOMAIN: 'agents.example.com',
      MAX_CLAIMS: 50,
      LISTENER_PORT: container.ports[0].containerPort,
    })
  })

  test('the Deployment has the given namespace, replicas and Secret, and stderr explains how to create that Secret', async () => {
    const more = ['--namespace', 'ops', '--replicas', '3', '--secret-name', 'the-key']
    const { stdout, stderr } = await manifest(...more)
    const deployment = (loadAllYaml(stdout) as Any[]).at(-1)
    expect([deployment.metadata.namespace, deployment.spec.replicas]).toEqual(['ops', 3])
    expect(stdout).toContain('name: "the-key"')
    expect(stderr).toContain('kubectl create secret generic the-key --namespace ops --from-file=CONTROL_PLANE_API_KEY=')
  })
})

test.each([
  [
    'without required options',
    [],
    /--namespaces is missing\.\n--listener-id is missing\.\n--control-plane-url is missing\./,
  ],
  ['with an invalid namespace', [...ARGS, '--namespaces', 'Agents'], /Agents is not a valid name of a namespace/],
  ['with zero replicas', [...ARGS, '--replicas', '0'], /--replicas must be a whole number from 1 to 100/],
  [
    'with an invalid listener id',
    [...ARGS, '--listener-id', 'prod'],
    /LISTENER_ID must be the id of a listener: a UUID/,
  ],
  [
    'with the key in its arguments',
    [...ARGS, '--set', 'CONTROL_PLANE_API_KEY=canary'],
    /with a setting of the listener, except/,
  ],
  ['with a wrong setting', [...ARGS, '--set', 'VOLUME_POLICY=retain'], /VOLUME_POLICY must be delete or keep/],
])('the command called %s reports the mistake', async (_how, args, message) => {
  const ran = await command(['listener', 'manifest', ...args], {})
  expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(message) })
  expect(ran.err).not.toContain('canary')
})
