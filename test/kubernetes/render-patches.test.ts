/** POD_PATCHES and POD_CLASSES: their effect on pod templates, and patches that are refused at startup. */
import { describe, expect, test } from 'vitest'
import { renderOptions } from '../../src/listener/cluster-runtime.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { readListenerSettings } from '../../src/platform/config/listener-settings.ts'
import { changes, find, pathsOf, render, schemaErrors } from './render-support.ts'

const patchesOf = (given: unknown) => renderOptions(readConfig({ POD_PATCHES: JSON.stringify(given) })).patches
/** The paths that a patch changes. */
const diff = (given: unknown, spec: object = {}) =>
  changes(pathsOf(render(spec)), pathsOf(render(spec, {}, { patches: patchesOf(given) })))
const S = 'Deployment/server:spec.template'
const classesOf = (given: unknown) => renderOptions(readConfig({ POD_CLASSES: JSON.stringify(given) })).classes

test('a patch changes only the fields that it names', () => {
  const toleration = { key: 'pool', operator: 'Exists' }
  expect(
    diff({
      server: {
        metadata: { labels: { team: 'bots' }, annotations: { 'sidecar.istio.io/inject': 'false' } },
        spec: {
          nodeSelector: { pool: 'agents' },
          tolerations: [toleration],
          securityContext: { runAsUser: 1000, seccompProfile: null },
          containers: [
            {
              name: 'agent',
              env: [
                { name: 'PORT', value: '9000' },
                { name: 'HTTPS_PROXY', value: 'http://p' },
              ],
            },
          ],
        },
      },
    }),
  ).toEqual({
    [`${S}.metadata.labels.team`]: 'bots',
    [`${S}.metadata.annotations.sidecar.istio.io/inject`]: 'false',
    [`${S}.spec.nodeSelector.pool`]: 'agents',
    [`${S}.spec.tolerations.0.key`]: 'pool',
    [`${S}.spec.tolerations.0.operator`]: 'Exists',
    [`${S}.spec.securityContext.runAsUser`]: 1000,
    [`${S}.spec.securityContext.seccompProfile.type`]: undefined,
    [`${S}.spec.containers.agent.env.PORT.value`]: '9000',
    [`${S}.spec.containers.agent.env.HTTPS_PROXY.name`]: 'HTTPS_PROXY',
    [`${S}.spec.containers.agent.env.HTTPS_PROXY.value`]: 'http://p',
  })
})

test('each component has its own patch, and a patch can add containers, volumes and mounts', () => {
  const patches = {
    database: {
      spec: {
        containers: [
          {
            name: 'postgres',
            volumeMounts: [
              { name: 'extra', mountPath: '/extra' },
              { mountPath: '/tmp', subPath: 't' },
            ],
          },
          { name: 'exporter', image: 'exporter:1', ports: null },
        ],
        volumes: [{ name: 'extra', emptyDir: {} }],
      },
    },
    cache: { spec: { priorityClassName: 'high' } },
    queue: { spec: { terminationGracePeriodSeconds: 900 } },
  }
  const D = 'StatefulSet/database:spec.template.spec'
  expect(diff(patches)).toEqual({
    [`${D}.containers.postgres.volumeMounts./extra.name`]: 'extra',
    [`${D}.containers.postgres.volumeMounts./extra.mountPath`]: '/extra',
    [`${D}.containers.postgres.volumeMounts./tmp.subPath`]: 't',
    [`${D}.containers.exporter.name`]: 'exporter',
    [`${D}.containers.exporter.image`]: 'exporter:1',
    [`${D}.volumes.extra.name`]: 'extra',
    [`${D}.volumes.extra.emptyDir`]: {},
    'Deployment/cache:spec.template.spec.priorityClassName': 'high',
    'Deployment/queue:spec.template.spec.terminationGracePeriodSeconds': 900,
  })
  expect(render({}, {}, { patches: patchesOf(patches) }).flatMap(schemaErrors)).toEqual([])
})

test('a patch replaces the pods of its component and no others', () => {
  const hash = (key: string, given: unknown = {}) =>
    find(render({}, {}, { patches: patchesOf(given) }), key).spec.template.metadata.annotations[
      'pilothouse.dev/template'
    ]
  const patch = { server: { spec: { priorityClassName: 'high' } } }
  expect(hash('Deployment/server', patch)).not.toBe(hash('Deployment/server'))
  expect(hash('Deployment/queue', patch)).toBe(hash('Deployment/queue'))
  expect(hash('Deployment/cache', { cache: {} })).toBe(hash('Deployment/cache'))
})

describe('an invalid patch stops startup with one line', () => {
  test.each([
    ['server:\n  spec: {}', /must be JSON, like \{/],
    ['[]', /must be a JSON object with a patch for each component/],
    [{ servers: {} }, /names the component servers, and there are server, queue, database, cache$/],
    [{ server: null }, /wrong patch for server: it must be an object/],
    [{ server: { kind: 'Pod' } }, /for server: kind is no part of a pod template; metadata and spec are$/],
    [{ queue: { spec: null } }, /for queue: metadata and spec must be objects$/],
    [{ server: { metadata: { name: 'x' } } }, /metadata\.name can’t be changed; labels and annotations can$/],
    [{ server: { metadata: { labels: null } } }, /metadata\.labels must be an object$/],
    [{ server: { metadata: { labels: { 'pilothouse.dev/deployment-id': 'x' } } } }, /labels can’t have pilothouse/],
    [{ server: { metadata: { labels: { 'app.kubernetes.io/component': null } } } }, /can’t have app\.kubernetes\.io/],
    [{ server: { metadata: { annotations: { 'pilothouse.dev/token': '9' } } } }, /Pilothouse’s own$/],
    [{ server: { metadata: { labels: { a: 1 } } } }, /metadata\.labels\.a must be a text, or null$/],
    [{ database: { spec: { containers: null } } }, /for database: spec\.containers must be a list/],
    [{ database: { spec: { volumes: [{ emptyDir: {} }] } } }, /each of spec\.volumes must have a name$/],
    [{ cache: { spec: { volumes: [{ name: 'a' }, { name: 'a' }] } } }, /spec\.volumes has the name a twice$/],
    [
      { cache: { spec: { containers: [{ name: 'agent' }] } } },
      /the container agent needs an image; .* is called redis$/,
    ],
  ])('the patch is %j', (given, said) => {
    const POD_PATCHES = typeof given === 'string' ? given : JSON.stringify(given)
    expect(() => readConfig({ POD_PATCHES })).toThrow(said)
    expect(() => readConfig({ POD_PATCHES })).toThrow(/^Wrong settings: POD_PATCHES /)
    expect(() => readListenerSettings({ POD_PATCHES })).toThrow('POD_PATCHES')
  })
})

test('a patch that names a container without an image changes the existing container', () => {
  for (const [component, name] of [
    ['server', 'agent'],
    ['queue', 'agent'],
    ['database', 'postgres'],
    ['cache', 'redis'],
  ] as const) {
    const patches = patchesOf({ [component]: { spec: { containers: [{ name, imagePullPolicy: 'Always' }] } } })
    const key = component === 'database' ? 'StatefulSet/database' : `Deployment/${component}`
    const { containers } = find(render({}, {}, { patches }), key).spec.template.spec
    expect(containers).toMatchObject([{ name, image: expect.any(String), imagePullPolicy: 'Always' }])
  }
})

describe('a class', () => {
  const gpu = {
    server: {
      spec: {
        nodeSelector: { pool: 'gpu' },
        runtimeClassName: 'nvidia',
        containers: [
          { name: 'agent', resources: { limits: { 'nvidia.com/gpu': 1 } }, readinessProbe: { periodSeconds: 30 } },
        ],
      },
    },
    queue: { spec: { nodeSelector: { pool: 'gpu' }, terminationGracePeriodSeconds: 3600 } },
  }

  test('a class changes server and queue of the deployments that name it, and no others', () => {
    const classes = classesOf({ gpu, large: {} })
    const renderedPaths = (spec: object) => pathsOf(render(spec, {}, { classes }))
    const T = 'spec.template.spec'
    expect(changes(renderedPaths({}), renderedPaths({ class: 'gpu' }))).toEqual({
      [`Deployment/server:${T}.nodeSelector.pool`]: 'gpu',
      [`Deployment/server:${T}.runtimeClassName`]: 'nvidia',
      [`Deployment/server:${T}.containers.agent.resources.limits.nvidia.com/gpu`]: 1,
      [`Deployment/server:${T}.containers.agent.readinessProbe.periodSeconds`]: 30,
      [`Deployment/queue:${T}.nodeSelector.pool`]: 'gpu',
      [`Deployment/queue:${T}.terminationGracePeriodSeconds`]: 3600,
    })
    expect(changes(renderedPaths({}), renderedPaths({ class: 'large' }))).toEqual({})
    expect(render({ class: 'gpu' }, {}, { classes }).flatMap(schemaErrors)).toEqual([])
  })

  test('a class overrides the patches of all deployments', () => {
    const patches = patchesOf({ server: { spec: { nodeSelector: { pool: 'agents', zone: 'a' } } } })
    const manifests = render({ class: 'gpu' }, {}, { patches, classes: classesOf({ gpu }) })
    expect(find(manifests, 'Deployment/server').spec.template.spec.nodeSelector).toEqual({ pool: 'gpu', zone: 'a' })
  })

  test.each([
    [{ gpu, cpu: {} }, /^Class tpu is not among POD_CLASSES of the listener: cpu, gpu\. Add it there, or change/],
    [{}, /^Class tpu is not among POD_CLASSES of the listener: there are none\./],
  ])('a class that is missing in the settings is refused (%#)', (given, said) => {
    expect(() => render({ class: 'tpu' }, {}, { classes: classesOf(given) })).toThrow(said)
  })

  test.each([
    ['gpu', /must be JSON, like \{"gpu": \{"server": /],
    [[], /must be a JSON object with the patches of each class$/],
    [{ GPU: {} }, /has the class "GPU": names have up to 63 lower-case letters/],
    [{ [`a${'b'.repeat(63)}`]: {} }, /names have up to 63/],
    [{ gpu: [] }, /has a wrong class gpu: it must be a JSON object with a patch for each component$/],
    [{ gpu: { spec: {} } }, /has a wrong class gpu: it names the component spec, and there are server, queue$/],
    [{ gpu: { database: {} } }, /names the component database, and there are server, queue$/],
    [{ gpu: { queue: { kind: 'Pod' } } }, /wrong class gpu: it has a wrong patch for queue: kind is no part/],
    [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`c${i}`, {}])), /must have at most 100 classes$/],
  ])('an invalid class stops startup with one line (%#)', (given, said) => {
    const POD_CLASSES = typeof given === 'string' ? given : JSON.stringify(given)
    expect(() => readConfig({ POD_CLASSES })).toThrow(said)
    expect(() => readConfig({ POD_CLASSES })).toThrow(/^Wrong settings: POD_CLASSES /)
    expect(() => readListenerSettings({ POD_CLASSES })).toThrow('POD_CLASSES')
  })
})
