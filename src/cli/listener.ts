/** `listener`: works for a control plane in a cluster. `listener manifest`: prints what installs it there. */
import type { ParseArgsConfig } from 'node:util'
import { exitMessage } from '../app/exit-message.ts'
import { Lifetime, say } from '../app/lifetime.ts'
import { createLogger } from '../app/logger.ts'
import { type ListenerObject, listenerManifest, type ManifestOptions, SECRET_KEY } from '../listener/manifest.ts'
import { type Listener, startListener } from '../listener/run.ts'
import { LISTENER_SETTINGS, readListenerSettings } from '../platform/config/listener-settings.ts'
import { logDestination } from '../platform/log/destination.ts'
import { type Command, readOptions, UsageError } from './terminal/command.ts'

export const runListener: Command = {
  usage: '',
  summary: 'runs a listener: carries out in a Kubernetes cluster what a control plane wants; see its settings',
  async run(args) {
    readOptions(args, {})
    const settings = readListenerSettings(process.env)
    const log = createLogger(settings.LOG_LEVEL, await logDestination(settings.LOG_FORMAT))
    const lifetime = new Lifetime()
    let listener: Listener
    try {
      listener = await startListener(settings, log)
    } catch (error) {
      say(`${exitMessage(error, 'LISTENER_')}\n`)
      return lifetime.leave(1)
    }
    lifetime.opened(listener, log)
    void listener.lost.then((error) => {
      if (lifetime.end(1)) say(`${exitMessage(error)}\n`)
    })
    if (lifetime.ending) await lifetime.leave()
    // a signal ends it
    await new Promise(() => {})
  },
}

const OPTIONS = {
  namespaces: { type: 'string' },
  'listener-id': { type: 'string' },
  'control-plane-url': { type: 'string' },
  image: { type: 'string' },
  namespace: { type: 'string', default: 'pilothouse' },
  replicas: { type: 'string', default: '2' },
  'secret-name': { type: 'string' },
  set: { type: 'string', multiple: true, default: [] as string[] },
} satisfies ParseArgsConfig['options']

export const printListenerManifest: Command = {
  usage:
    '--namespaces A,B --listener-id ID --control-plane-url URL --image IMAGE [--namespace NS] [--replicas N] [--secret-name NAME] [--set SETTING=VALUE …]',
  summary:
    'prints the YAML that installs a listener; --namespaces: of the deployments; --namespace: of the listener itself (pilothouse)',
  async run(args) {
    const options = manifestOptions(readOptions(args, OPTIONS).values)
    process.stdout.write(await yamlOf(listenerManifest(options)))
    say(secretHint(options))
  },
}

async function yamlOf(objects: ListenerObject[]): Promise<string> {
  // it takes a second to load, which no other command has to wait for
  const { dumpYaml } = await import('@kubernetes/client-node')
  return objects.map((object) => `---\n${dumpYaml(object)}`).join('')
}

function secretHint({ secretName, namespace, watched }: ManifestOptions): string {
  const all = [...new Set([namespace, ...watched])].join(', ')
  return [
    `The namespaces (${all}) have to be there. The listener finds its key in a Secret, made once by:`,
    `  printf %s "$${SECRET_KEY}" | kubectl create secret generic ${secretName} --namespace ${namespace} --from-file=${SECRET_KEY}=/dev/stdin`,
    '',
  ].join('\n')
}

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

function manifestOptions(values: Values): ManifestOptions {
  const wrong: string[] = []
  const needed = (name: 'namespaces' | 'listener-id' | 'control-plane-url' | 'image') => {
    if (!values[name]) wrong.push(`--${name} is missing.`)
    return values[name] ?? ''
  }
  const watched = [
    ...new Set(
      needed('namespaces')
        .split(',')
        .map((name) => name.trim()),
    ),
  ].filter(Boolean)
  const namespace = values.namespace
  for (const name of [...watched, namespace])
    if (!NAMESPACE.test(name)) wrong.push(`${name} is not the name of a namespace.`)
  const replicas = Number(values.replicas)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 100) wrong.push('--replicas must be from 1 to 100.')
  const listenerId = needed('listener-id').toLowerCase()
  const controlPlaneUrl = needed('control-plane-url')
  const image = needed('image')
  if (/\s/.test(image)) wrong.push('--image must be an image reference.')
  if (!OBJECT.test(values['secret-name'] ?? 'none')) wrong.push('--secret-name must be the name of a Secret.')
  const settings = settingsOf(values.set, wrong)
  if (wrong.length === 0) {
    const known = { CONTROL_PLANE_URL: controlPlaneUrl, LISTENER_ID: listenerId, [SECRET_KEY]: 'k'.repeat(20) }
    wrong.push(...wrongSettings({ ...settings, ...known }))
  }
  if (wrong.length > 0) throw new UsageError(wrong.join('\n'))
  // the last group is the random part of an id
  const name = `pilothouse-listener-${listenerId.split('-').at(-1)}`
  const secretName = values['secret-name'] ?? name
  return { name, namespace, watched, listenerId, controlPlaneUrl, image, replicas, secretName, settings }
}

/** What the listener itself would say of them at its start. */
function wrongSettings(environment: Record<string, string>): string[] {
  try {
    readListenerSettings(environment)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

const OBJECT = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** The manifest has its own for these. */
const FIXED = ['CONTROL_PLANE_URL', 'LISTENER_ID', SECRET_KEY, 'LISTENER_HOST', 'LISTENER_PORT', 'KUBECONFIG']

function settingsOf(given: readonly string[], wrong: string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const [name = '', ...value] = text.split('=')
      if (!Object.hasOwn(LISTENER_SETTINGS, name) || FIXED.includes(name) || value.length === 0)
        wrong.push(`--set must be SETTING=VALUE, with a setting other than ${FIXED.join(', ')}.`)
      return [name, value.join('=')]
    }),
  )
}
