/** Validates pods and pod templates. */
import type { Json } from './objects.ts'
import { nano } from './quantity.ts'
import { DNS_LABEL, isQualifiedName, labels, type Problems, SUBDOMAIN } from './validate-words.ts'

export function templateProblems(template: Json, problems: Problems): void {
  if (!template) {
    problems.required('spec.template')
    return
  }
  labels(template.metadata?.labels, 'spec.template.metadata.labels', problems)
  podProblems(template.spec, 'spec.template.spec', problems)
  if (template.spec.restartPolicy !== 'Always') {
    problems.unsupported('spec.template.spec.restartPolicy', template.spec.restartPolicy, ['Always'])
  }
}

export function podProblems(spec: Json, field: string, problems: Problems): void {
  if (!spec.containers?.length) problems.required(`${field}.containers`)
  const volumes = new Set<string>()
  for (const [n, volume] of (spec.volumes ?? []).entries()) {
    const at = `${field}.volumes[${n}]`
    name(volume.name, `${at}.name`, volumes, problems)
    const sources = Object.keys(volume).filter((member) => member !== 'name')
    if (sources.length > 1) problems.forbidden(`${at}.${sources[1]}`, 'may not specify more than 1 volume type')
  }
  const names = new Set<string>()
  for (const list of ['initContainers', 'containers']) {
    for (const [n, container] of (spec[list] ?? []).entries()) {
      const at = `${field}.${list}[${n}]`
      name(container.name, `${at}.name`, names, problems)
      containerProblems(container, at, volumes, problems)
      if (list === 'initContainers' && container.restartPolicy !== 'Always') {
        for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle']) {
          if (container[probe])
            problems.forbidden(`${at}.${probe}`, 'may not be set for init containers without restartPolicy=Always')
        }
      }
    }
  }
  const account = spec.serviceAccountName
  if (account && !SUBDOMAIN.pattern.test(account))
    problems.invalid(`${field}.serviceAccountName`, account, SUBDOMAIN.words)
}

function name(value: string | undefined, field: string, seen: Set<string>, problems: Problems): void {
  if (!value) problems.required(field)
  else if (value.length > 63) problems.invalid(field, value, 'must be no more than 63 characters')
  else if (!DNS_LABEL.pattern.test(value)) problems.invalid(field, value, DNS_LABEL.words)
  else if (seen.has(value)) problems.duplicate(field, value)
  if (value) seen.add(value)
}

function containerProblems(container: Json, at: string, volumes: Set<string>, problems: Problems): void {
  if (!container.image) problems.required(`${at}.image`)
  resources(container.resources, `${at}.resources`, problems)
  for (const [n, variable] of (container.env ?? []).entries()) {
    if (!variable.name) problems.required(`${at}.env[${n}].name`)
    else if (/[=]|^\.\.?$/.test(variable.name))
      problems.invalid(
        `${at}.env[${n}].name`,
        variable.name,
        `a valid environment variable name must consist only of printable ASCII characters other than '='`,
      )
    if (variable.value && variable.valueFrom) {
      problems.invalid(`${at}.env[${n}].valueFrom`, '', 'may not be specified when `value` is not empty')
    }
  }
  const paths = new Set<string>()
  for (const [n, mount] of (container.volumeMounts ?? []).entries()) {
    const here = `${at}.volumeMounts[${n}]`
    if (!mount.name) problems.required(`${here}.name`)
    else if (!volumes.has(mount.name)) problems.notFound(`${here}.name`, mount.name)
    if (!mount.mountPath) problems.required(`${here}.mountPath`)
    else if (paths.has(mount.mountPath)) problems.invalid(`${here}.mountPath`, mount.mountPath, 'must be unique')
    paths.add(mount.mountPath)
    if (/^\/|(^|\/)\.\.(\/|$)/.test(mount.subPath ?? ''))
      problems.invalid(`${here}.subPath`, mount.subPath, 'must be a relative path')
  }
  const ports = new Set<string>()
  for (const [n, port] of (container.ports ?? []).entries()) {
    const here = `${at}.ports[${n}]`
    if (!(port.containerPort >= 1 && port.containerPort <= 65535))
      problems.invalid(`${here}.containerPort`, port.containerPort, 'must be between 1 and 65535, inclusive')
    if (port.name && !/^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(port.name))
      problems.invalid(`${here}.name`, port.name, 'must be no more than 15 characters')
    if (port.name && ports.has(port.name)) problems.duplicate(`${here}.name`, port.name)
    ports.add(port.name)
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    probe(container[name], `${at}.${name}`, problems)
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc']

function probe(value: Json, at: string, problems: Problems): void {
  if (!value) return
  const handlers = HANDLERS.filter((handler) => value[handler])
  if (handlers.length === 0) problems.required(at, 'must specify a handler type')
  if (handlers.length > 1) problems.forbidden(`${at}.${handlers[1]}`, 'may not specify more than 1 handler type')
  if (!at.endsWith('readinessProbe') && value.successThreshold !== 1) {
    problems.invalid(`${at}.successThreshold`, value.successThreshold, 'must be 1')
  }
  for (const handler of ['httpGet', 'tcpSocket'] as const) {
    const port: Json = value[handler] && (value[handler].port ?? 0)
    if (typeof port === 'number' && !(port >= 1 && port <= 65535))
      problems.invalid(`${at}.${handler}.port`, port, 'must be between 1 and 65535, inclusive')
  }
}

const STANDARD = ['cpu', 'memory', 'ephemeral-storage']

function resources(value: Json, at: string, problems: Problems): void {
  for (const member of ['limits', 'requests']) {
    for (const [resource, amount] of Object.entries(value?.[member] ?? {})) {
      const here = `${at}.${member}[${resource}]`
      if (
        !STANDARD.includes(resource) &&
        !resource.startsWith('hugepages-') &&
        !(resource.includes('/') && isQualifiedName(resource))
      ) {
        problems.invalid(here, resource, 'must be a standard resource for containers')
      } else if (problems.quantity(here, amount) && nano(amount) < 0n) {
        problems.invalid(here, amount, 'must be greater than or equal to 0')
      }
    }
  }
  for (const [resource, amount] of Object.entries(value?.requests ?? {})) {
    const limit = value.limits?.[resource]
    if (limit !== undefined && nano(amount) > nano(limit)) {
      problems.invalid(`${at}.requests`, amount, `must be less than or equal to ${resource} limit of ${limit}`)
    }
  }
}
