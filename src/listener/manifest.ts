/** Manifests that install a listener: those of the chart in deploy/chart, rendered without helm. See README.md. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { CHECKOUT } from '../platform/files/checkout.ts'
import { renderTemplates } from './go-template.ts'

export interface ManifestOptions {
  namespace: string
  /** namespaces of the deployments: the listener's `k8s_namespaces` */
  watched: string[]
  listenerId: string
  controlPlaneUrl: string
  /** the container image, whose first argument names the program; empty: the chart's default */
  image: string
  replicas: number
  /** empty: the chart's default */
  secretName: string
  /** other settings, as environment variables */
  settings: Record<string, string>
}

/** Key of the Secret's data and name of the setting. */
export const SECRET_KEY = 'CONTROL_PLANE_API_KEY'
/** The chart sets these itself; its schema has the same list. */
export const RESERVED_SETTINGS = [
  'CONTROL_PLANE_URL',
  'LISTENER_ID',
  SECRET_KEY,
  'LISTENER_HOST',
  'LISTENER_PORT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'KUBECONFIG',
]
const CHART = path.join(CHECKOUT, 'deploy/chart')

/** `notes`: what is left to do, for people. */
export function listenerManifest(options: ManifestOptions): { text: string; objects: unknown[]; notes: string } {
  const { namespace, watched, secretName, ...listener } = options
  const texts = renderChart({
    release: 'pilothouse',
    namespace,
    values: {
      server: { enabled: false },
      listener: { ...listener, enabled: true, namespaces: watched, existingSecret: secretName },
    },
  })
  const text = `---\n${texts.get('listener.yaml')!.trim()}`
  const objects = [...parseAllDocuments(text)].map((document) => document.toJS())
  return { text, objects, notes: texts.get('NOTES.txt')!.trim() }
}

interface Release {
  release: string
  namespace: string
  /** as in a file of `helm install --values` */
  values: Values
}

type Values = { [name: string]: unknown }

/** Texts of the chart's templates by file name, as `helm template` renders them. Throws when a required value is missing. */
export function renderChart({ release, namespace, values }: Release): Map<string, string> {
  const templates = path.join(CHART, 'templates')
  const { name, version, appVersion } = parse(read('Chart.yaml'))
  return renderTemplates(new Map(readdirSync(templates).map((file) => [file, read(path.join('templates', file))])), {
    Values: merge(parse(read('values.yaml')), values),
    Release: { Name: release, Namespace: namespace },
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Files: { Get: read },
  })
}

const read = (file: string): string => readFileSync(path.join(CHART, file), 'utf8')

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges maps. Other values replace, and null removes, as in helm. */
function merge(preset: Values, given: Values): Values {
  const merged = { ...preset }
  for (const [name, value] of Object.entries(given)) {
    const before = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isMap(before) && isMap(value) ? merge(before, value) : value
  }
  return merged
}
