/** The chart of deploy/chart for tests: its objects, rendered by our renderer and by helm (TEST_HELM, or `helm` of PATH). */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { V1PolicyRule } from '@kubernetes/client-node'
import { parseAllDocuments } from 'yaml'
import { renderChart } from '../../src/listener/manifest.ts'
import { ROOT } from './process.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Any = any
export type Values = Record<string, unknown>
export interface Release {
  release: string
  namespace: string
  values: Values
}

const CHART = path.join(ROOT, 'deploy/chart')
const HELM = process.env.TEST_HELM ?? 'helm'
export const hasHelm = spawnSync(HELM, ['version']).status === 0

export const readChart = (file: string): string => readFileSync(path.join(CHART, file), 'utf8')

/** Objects of the chart, in the order of the files. */
export const chartObjects = (release: Release): Any[] =>
  [...renderChart(release)].filter(([file]) => file.endsWith('.yaml')).flatMap(([, text]) => objectsOf(text))

export function helmObjects({ release, namespace, values }: Release): Any[] {
  return objectsOf(helm('template', [release, CHART, '--namespace', namespace], values))
}

export const helmLint = (values: Values): string => helm('lint', [CHART, '--strict'], values)

function helm(command: string, args: string[], values: Values): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-values-'))
  try {
    const file = path.join(folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return execFileSync(HELM, [command, ...args, '--values', file], { encoding: 'utf8', stdio: 'pipe' })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Kubernetes reads YAML 1.1. */
const objectsOf = (text: string): Any[] =>
  [...parseAllDocuments(text, { version: '1.1' })].map((document) => document.toJS()).filter(Boolean)

export const LISTENER_ID = '0b0e3f8e-6f0c-4c1e-9a57-2f5d3a1c9e11'
const listener = { enabled: true, listenerId: LISTENER_ID, namespaces: ['agents', 'more-agents'] }
const builder = { enabled: true, existingSecret: 'builder-key', image: 'registry.example.com/builder:1' }
const door = { enabled: true, domain: 'apps.example.com' }
const away = { controlPlaneUrl: 'https://pilothouse.example.com' }

/** Combinations of values that people use. */
export const COMBINATIONS: Record<string, Values> = {
  minimal: { server: { existingSecret: 'pilothouse' } },
  'a listener alone': { server: { enabled: false }, listener: { ...listener, ...away } },
  'a builder alone': { server: { enabled: false }, builder: { ...builder, ...away } },
  'a door alone': {
    server: { enabled: false },
    door: { ...door, https: false, existingSecret: 'door-token', ...away, ingress: { enabled: true } },
  },
  'without a user, as on OpenShift': {
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    server: { existingSecret: 'pilothouse' },
    listener: { ...listener, settings: { POD_SECURITY: 'restricted', POD_USER: 'any' } },
  },
  'values that look like other types': {
    server: { existingSecret: '1e3', settings: { OIDC_NAME: 'on', NPM_CONFIG_REGISTRY: '"\\\n: {{ x }} ü' } },
    listener: { ...listener, namespaces: ['true', '007'], settings: { POD_PATCHES: '{"server":{"spec":{}}}' } },
  },
  everything: {
    image: { repository: 'registry.example.com/pilothouse', digest: `sha256:${'0'.repeat(64)}` },
    imagePullSecrets: [{ name: 'registry' }],
    server: {
      existingSecret: 'pilothouse',
      settings: { TRUST_PROXY: '10.0.0.0/8', STORAGE_S3_BUCKET: 'uploads' },
      extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      kubernetes: { enabled: true, namespace: 'agents-of-the-server' },
      registry: { url: 'https://registry.example.com', existingSecret: 'registry-token' },
      data: { existingClaim: 'pilothouse-data' },
      autoscaling: { enabled: true, maxReplicas: 4 },
      service: { annotations: { 'example.com/team': 'red' } },
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/uploads' } },
      nodeSelector: { pool: 'control' },
      tolerations: [{ key: 'control', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      priorityClassName: 'system-cluster-critical',
      podAnnotations: { 'example.com/a': 'b' },
      extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
    },
    listener: {
      ...listener,
      settings: { GATEWAY: 'gateways/public' },
      podAnnotations: { a: 'b' },
      nodeSelector: { pool: 'control' },
    },
    door: {
      ...door,
      customUrls: true,
      accessLog: '/dev/stdout',
      existingSecret: 'door-token',
      settings: { CLUSTER_DOMAIN: 'cluster.example' },
      ingress: {
        enabled: true,
        className: 'nginx',
        annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
        tlsSecret: 'apps-tls',
      },
      httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }] },
    },
    builder: { ...builder, replicas: 3, extraEnv: [{ name: 'CONTAINER_HOST', value: 'tcp://engine:2375' }] },
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' },
      hosts: ['pilothouse.example.com', 'ph.example.com'],
      tls: [{ hosts: ['pilothouse.example.com', 'ph.example.com'], secretName: 'pilothouse-tls' }],
    },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }], hostnames: ['x.example.com'] },
    networkPolicy: {
      enabled: true,
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
      metricsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] } }] }],
    },
    monitoring: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
      dashboard: { enabled: true },
    },
  },
}

type Rules = (V1PolicyRule & { resources: string[] })[]

/** RBAC rules of a listener in a watched namespace, as the chart grants them. */
export const listenerRules = (settings: Values = {}): Rules =>
  chartObjects({
    release: 'pilothouse',
    namespace: 'pilothouse',
    values: { server: { enabled: false }, listener: { ...listener, ...away, settings } },
  }).find(({ kind }) => kind === 'Role').rules

export const LISTENER_RULES = listenerRules()
