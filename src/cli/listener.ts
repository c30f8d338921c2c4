/** `listener`: runs deployments of a control plane in a cluster. `listener manifest`: prints the YAML that installs a listener. */
import { say } from '../app/lifetime.ts'
import { listenerManifest, type ManifestOptions, RESERVED_SETTINGS, SECRET_KEY } from '../listener/manifest.ts'
import { startListener } from '../listener/run.ts'
import { LISTENER_SETTINGS, readListenerSettings } from '../platform/config/listener-settings.ts'
import { command, UsageError } from './terminal/command.ts'
import { worker } from './worker.ts'

export const listener = worker('listener', 'LISTENER_', readListenerSettings, startListener)

export const manifest = command({
  examples: [
    'listener manifest --namespaces agents --listener-id ID --control-plane-url https://pilothouse.example.com',
  ],
  define: (command) =>
    command
      .option('--namespaces <names>', 'the namespaces of deployments, separated by commas')
      .option('--listener-id <id>', 'the listener')
      .option('--control-plane-url <url>', 'the server')
      .option('--image <image>', 'the listener’s image; by default Pilothouse’s of this version', '')
      .option('--namespace <name>', 'the namespace of the listener', 'pilothouse')
      .option('--replicas <n>', 'the number of pods', '2')
      .option('--secret-name <name>', 'the Secret with the listener’s key; by default the name of the listener')
      .option('--set <SETTING=VALUE>', 'a setting of the listener; repeatable', repeatable, []),
  async work(_call, _args, values) {
    const options = manifestOptions(values)
    const { text, objects, notes } = listenerManifest(options)
    const namespaces = [...new Set([options.namespace, ...options.watched])].join(', ')
    say(`Create the namespaces (${namespaces}) if they don't exist.\n\n${notes}\n`)
    return { outcome: 'done', json: { objects }, text }
  },
})

const repeatable = (text: string, before: string[]) => [...before, text]

interface Values {
  namespaces?: string
  listenerId?: string
  controlPlaneUrl?: string
  image: string
  namespace: string
  replicas: string
  secretName?: string
  set: string[]
}

function manifestOptions(values: Values): ManifestOptions {
  const problems: string[] = []
  const required = (option: string, value: string | undefined) => {
    if (!value) problems.push(`--${option} is missing.`)
    return value ?? ''
  }
  const watched = [
    ...new Set(
      required('namespaces', values.namespaces)
        .split(',')
        .map((name) => name.trim()),
    ),
  ].filter(Boolean)
  const namespace = values.namespace
  for (const name of [...watched, namespace])
    if (!NAMESPACE_NAME.test(name)) problems.push(`${name} is not a valid name of a namespace.`)
  const replicas = Number(values.replicas)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 100)
    problems.push('--replicas must be a whole number from 1 to 100.')
  const listenerId = required('listener-id', values.listenerId).toLowerCase()
  const controlPlaneUrl = required('control-plane-url', values.controlPlaneUrl)
  const { image } = values
  if (/\s/.test(image)) problems.push('--image must be an image reference without spaces.')
  if (!OBJECT_NAME.test(values.secretName ?? 'none')) problems.push('--secret-name must be a valid name of a Secret.')
  const settings = parseSettings(values.set, problems)
  if (problems.length === 0) {
    const known = { CONTROL_PLANE_URL: controlPlaneUrl, LISTENER_ID: listenerId, [SECRET_KEY]: 'k'.repeat(20) }
    problems.push(...settingsProblems({ ...settings, ...known }))
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'))
  const secretName = values.secretName ?? ''
  return { namespace, watched, listenerId, controlPlaneUrl, image, replicas, secretName, settings }
}

/** Returns the errors that the listener would report at its start. */
function settingsProblems(environment: Record<string, string>): string[] {
  try {
    readListenerSettings(environment)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const NAMESPACE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

function parseSettings(assignments: readonly string[], problems: string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.map((text) => {
      const [name = '', ...value] = text.split('=')
      if (!Object.hasOwn(LISTENER_SETTINGS, name) || RESERVED_SETTINGS.includes(name) || value.length === 0)
        problems.push(
          `--set must be SETTING=VALUE with a setting of the listener, except ${RESERVED_SETTINGS.join(', ')}.`,
        )
      return [name, value.join('=')]
    }),
  )
}
