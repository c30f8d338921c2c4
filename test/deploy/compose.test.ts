/** deploy/compose.yaml and the secrets that its script writes. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { loadYaml } from '@kubernetes/client-node'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/platform/config/config.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { removeFolder } from '../support/data-dir.ts'
import { ROOT } from '../support/process.ts'

interface Service {
  environment?: Record<string, string>
  secrets?: string[]
  volumes?: string[]
  depends_on?: string[]
  build?: { context: string; dockerfile: string }
}
interface Compose {
  services: Record<string, Service>
  volumes: Record<string, null>
  secrets: Record<string, { file: string }>
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-compose-'))
const script = path.join(folder, 'compose-secrets.sh')
const compose = loadYaml<Compose>(readFileSync(path.join(ROOT, 'deploy/compose.yaml'), 'utf8'))
const services = Object.values(compose.services)
const writeSecrets = () => execFileSync('sh', [script], { encoding: 'utf8' })
const secret = (name: string) => readFileSync(path.join(folder, compose.secrets[name]!.file), 'utf8')

beforeAll(() => {
  cpSync(path.join(ROOT, 'deploy/compose-secrets.sh'), script)
  writeSecrets()
})
afterAll(() => removeFolder(folder))

test('the script writes every secret once, into a folder that only its owner can open', () => {
  const files = Object.values(compose.secrets).map(({ file }) => path.basename(file))
  expect(readdirSync(path.join(folder, 'secrets')).sort()).toEqual(files.sort())
  expect(statSync(path.join(folder, 'secrets')).mode & 0o777).toBe(0o700)
  const before = Object.keys(compose.secrets).map(secret)
  expect(writeSecrets()).toContain('/secrets/api-key.')
  expect(Object.keys(compose.secrets).map(secret)).toEqual(before)
})

test('the server accepts its settings with these secrets, and Postgres has the password of its URL', () => {
  const { environment, secrets } = compose.services.server!
  const mounted = (value: string) => value.replace('/run/secrets/', `${folder}/secrets/`)
  // as without DOMAIN
  const given = (value: string) => mounted(value).replace(/\$\{DOMAIN:-(.*?)\}/, '$1')
  const settings = Object.fromEntries(Object.entries(environment!).map(([name, value]) => [name, given(value)]))
  for (const name of Object.keys(settings)) expect(SETTINGS).toHaveProperty(name.replace(/_FILE$/, ''))
  const config = readConfig(settings)
  expect(config).toMatchObject({ PUBLIC_URL: 'https://localhost', RUNTIME: 'process' })
  expect(config.APPS_URL).toBe('https://{name}.localhost')
  expect(config.CONTROL_PLANE_API_KEY).toBe(secret('api-key').trim())
  const url = new URL(config.DATABASE_URL!)
  expect(url.password).toBe(secret('postgres-password').trim())
  expect(url.username).toBe(compose.services.postgres!.environment!.POSTGRES_USER)
  expect(compose.services).toHaveProperty(url.hostname)
  expect(secrets!.map((name) => `/run/secrets/${name}`).sort()).toEqual(
    Object.entries(environment!)
      .flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []))
      .sort(),
  )
})

test('the file is valid by the schema of the Compose specification', () => {
  const schema = path.join(ROOT, 'node_modules/dclint/schemas/compose.schema.json')
  const options = { strict: false, validateSchema: false, validateFormats: false }
  const validate = new Ajv(options).compile(JSON.parse(readFileSync(schema, 'utf8')))
  validate(compose)
  expect(validate.errors).toBeNull()
  const misspelled = { ...compose, services: { server: { ...compose.services.server, tmpfss: ['/tmp'] } } }
  expect(validate(misspelled)).toBe(false)
})

test('each volume, secret, service and file that a service names exists', () => {
  const named = (list: keyof Pick<Service, 'secrets' | 'depends_on'>) =>
    services.flatMap((service) => service[list] ?? [])
  for (const name of named('secrets')) expect(compose.secrets).toHaveProperty(name)
  for (const name of named('depends_on')) expect(compose.services).toHaveProperty(name)
  const volumes = services.flatMap((service) => (service.volumes ?? []).map((text) => text.split(':')[0]!))
  const files = volumes.filter((name) => name.startsWith('./'))
  expect(Object.keys(compose.volumes).sort()).toEqual(volumes.filter((name) => !files.includes(name)).sort())
  for (const file of files) expect(statSync(path.join(ROOT, 'deploy', file)).isFile()).toBe(true)
  const { context, dockerfile } = compose.services.server!.build!
  expect(statSync(path.join(ROOT, 'deploy', context, dockerfile)).isFile()).toBe(true)
})
