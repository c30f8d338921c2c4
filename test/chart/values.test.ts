// The chart's values: documented, checked by values.schema.json, and with the names of the settings.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { isMap, parse, parseDocument, type YAMLMap } from 'yaml'
import { RESERVED_SETTINGS, renderChart } from '../../src/listener/manifest.ts'
import { BUILDER_SETTINGS } from '../../src/platform/config/builder-settings.ts'
import { DOOR_SETTINGS } from '../../src/platform/config/door-settings.ts'
import { LISTENER_SETTINGS } from '../../src/platform/config/listener-settings.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { COMBINATIONS, hasHelm, helmLint, readChart, type Values } from '../support/chart.ts'
import { ROOT } from '../support/process.ts'

const schema = JSON.parse(readChart('values.schema.json'))
const ajv = new Ajv({ allErrors: true, strict: true })
const check = ajv.compile(schema)
const mistakes = (values: Values) => {
  check(values)
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, params.additionalProperty ?? params.propertyName].filter(Boolean).join(' '),
  )
}
/** Throws with the message that a person reads. */
const render = (values: Values) => renderChart({ release: 'pilothouse', namespace: 'pilothouse', values })

interface Documented {
  name: string
  preset: unknown
  description: string | undefined
}

/** Values with their comments `# -- …`; a map without one stands for its members. */
function documented(map: YAMLMap, parent = ''): Documented[] {
  return map.items.flatMap((pair, at) => {
    const key = pair.key as { value: string; commentBefore?: string | null }
    const name = `${parent}${key.value}`
    // the comment before the first member belongs to the map
    const comment = (at === 0 ? (map.commentBefore ?? key.commentBefore) : key.commentBefore) ?? ''
    const description = /^ -- (.*)$/m.exec(comment)?.[1]
    if (!description && isMap(pair.value) && pair.value.items.length > 0) return documented(pair.value, `${name}.`)
    return [{ name, preset: (pair.value as { toJSON(): unknown }).toJSON(), description }]
  })
}
const values = documented(parseDocument(readChart('values.yaml')).contents as YAMLMap)

test('every value has a description', () => {
  expect(values.length).toBeGreaterThan(80)
  expect(values.filter(({ description }) => !description)).toEqual([])
})

test('the README’s table has every value with its default and its description', () => {
  const rows = values.map(
    ({ name, preset, description }) =>
      `| \`${name}\` | ${preset === '' ? '' : `\`${JSON.stringify(preset).replace(/^"(.*)"$/, '$1')}\``} | ${description} |`,
  )
  const table = /<!-- values -->\n([\s\S]*)<!-- \/values -->/.exec(readChart('README.md'))![1]!
  expect(table.trim().split('\n')).toEqual(['| value | default | what it is for |', '|---|---|---|', ...rows])
})

test('chart and server have one version', () => {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
  expect(parse(readChart('Chart.yaml'))).toMatchObject({ version, appVersion: version })
})

describe('values.schema.json', () => {
  test('it knows exactly the values of values.yaml', () => {
    const presets = parse(readChart('values.yaml'))
    expect(mistakes(presets)).toEqual([])
    const absent = (part: Values, { properties = {} }: { properties?: Record<string, object> }, at: string): string[] =>
      Object.entries(properties).flatMap(([name, below]) =>
        name in part ? absent((part[name] ?? {}) as Values, below, `${at}${name}.`) : [`${at}${name}`],
      )
    // `global` comes from the chart of which this one is a part
    expect(absent(presets, schema, '')).toEqual(['global'])
  })

  test.each(Object.entries(COMBINATIONS))('it accepts: %s', (_name, given) => {
    expect(mistakes(given)).toEqual([])
  })

  test.each([
    [{ sever: {} }, ' must NOT have additional properties sever'],
    [{ server: { replica: 3 } }, '/server must NOT have additional properties replica'],
    [{ server: { replicas: 0 } }, '/server/replicas must be >= 1'],
    [{ server: { settings: { LOG_LVL: 'debug' } } }, '/server/settings property name must be valid LOG_LVL'],
    [{ server: { settings: { MAX_BUILDS: 3 } } }, '/server/settings/MAX_BUILDS must be string'],
    [{ server: { settings: { SECRETS_KEYS: 'k:…' } } }, '/server/settings property name must be valid SECRETS_KEYS'],
    [{ listener: { listenerId: 'prod-eu' } }, '/listener/listenerId must match pattern'],
    [{ listener: { namespaces: ['Agents'] } }, '/listener/namespaces/0 must match pattern'],
    [{ server: { publicUrl: 'pilothouse.example.com' } }, '/server/publicUrl must match pattern'],
    [{ fullnameOverride: 'x'.repeat(42) }, '/fullnameOverride must NOT have more than 41 characters'],
    [{ image: { digest: 'latest' } }, '/image/digest must match pattern'],
  ])('it refuses %j', (given, message) => {
    expect(mistakes(given).join('\n')).toContain(message.trim())
  })

  const SET_BY_CHART =
    'HOST PORT PUBLIC_URL DATA_DIR RUNTIME BUILDER K8S_NAMESPACE KUBECONFIG REGISTRY_URL APPS_URL DOOR_NAMESPACE DOOR_SERVICE'
  const FILES = 'REGISTRY_TOKEN_KEY REGISTRY_TOKEN_CERTIFICATE'
  const SECRETS =
    'DOOR_TOKEN DATABASE_URL DATABASE_DIRECT_URL CONTROL_PLANE_API_KEY SECRETS_KEYS OIDC_CLIENT_SECRET GITPROVIDER_PRIVATE_KEY GITPROVIDER_WEBHOOK_SECRET GITPROVIDER_CLIENT_SECRET STORAGE_S3_SECRET_ACCESS_KEY OTEL_EXPORTER_OTLP_HEADERS'
  test.each([
    ['server', SETTINGS, `${SET_BY_CHART} ${FILES} ${SECRETS}`.split(' ')],
    ['listener', LISTENER_SETTINGS, RESERVED_SETTINGS],
    [
      'door',
      DOOR_SETTINGS,
      ['CONTROL_PLANE_URL', 'DOOR_TOKEN', 'DOOR_PORT', 'DOOR_HEALTH_PORT', 'DATA_DIR', 'APPS_URL', 'APPS_ACCESS_LOG'],
    ],
    [
      'builder',
      BUILDER_SETTINGS,
      'CONTROL_PLANE_URL CONTROL_PLANE_API_KEY BUILDER_HOST BUILDER_PORT DATA_DIR OTEL_EXPORTER_OTLP_HEADERS'.split(
        ' ',
      ),
    ],
  ])('it allows every setting of the %s, except secrets and those that the chart sets', (part, table, reserved) => {
    expect(Object.keys(table)).toEqual(expect.arrayContaining([...reserved]))
    const allowed = Object.keys(table).filter((name) => !reserved.includes(name))
    expect(schema.properties[part].properties.settings.propertyNames.enum).toEqual(allowed)
  })
})

test.each([
  [{}, 'server.existingSecret is missing: a Secret with DATABASE_URL and SECRETS_KEYS'],
  [
    { server: { enabled: false }, listener: { enabled: true, namespaces: ['a'] } },
    'listener.controlPlaneUrl is missing: the address of the control plane',
  ],
  [
    { server: { existingSecret: 's' }, listener: { enabled: true, namespaces: ['a'] } },
    'listener.listenerId is missing: the id that POST /v2/listeners answered',
  ],
  [
    { server: { existingSecret: 's' }, listener: { enabled: true } },
    'listener.namespaces is missing: the namespaces of the deployments',
  ],
  [{ server: { existingSecret: 's' }, door: { enabled: true } }, 'door.domain is missing'],
  [
    { server: { existingSecret: 's' }, door: { enabled: true, domain: 'a.example.com', httpRoute: { enabled: true } } },
    'door.httpRoute.parentRefs is missing: the Gateways',
  ],
  [{ server: { existingSecret: 's' }, builder: { enabled: true } }, 'builder.existingSecret is missing'],
  [
    { server: { existingSecret: 's', kubernetes: { enabled: true } } },
    'server.kubernetes.namespace is missing: the namespace of the deployments',
  ],
  [
    { server: { existingSecret: 's', registry: { url: 'https://r.example.com' } } },
    'server.registry.existingSecret is missing: a Secret with tls.key and tls.crt',
  ],
  [{ server: { existingSecret: 's' }, ingress: { enabled: true } }, 'ingress.hosts is missing'],
  [{ server: { existingSecret: 's' }, httpRoute: { enabled: true } }, 'httpRoute.parentRefs is missing'],
])('an installation with %j ends with the name of the missing value', (given, message) => {
  expect(() => render(given)).toThrow(message)
})

test.skipIf(!hasHelm).each(Object.entries(COMBINATIONS))('helm lint accepts: %s', (_name, given) => {
  expect(helmLint(given)).toContain('0 chart(s) failed')
})
