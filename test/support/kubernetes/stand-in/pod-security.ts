/**
 * Pod Security admission for the namespace label `pod-security.kubernetes.io/enforce`, with the messages of
 * k8s.io/pod-security-admission/policy. It refuses pods, never workloads. Not checked: AppArmor, Windows, hosts of
 * probes.
 */
import { kindNamed } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import { forbidden } from './status.ts'
import type { Store } from './store.ts'
import type { Problems } from './validate-words.ts'

const ENFORCE = 'pod-security.kubernetes.io/enforce'
const LEVELS = ['privileged', 'baseline', 'restricted']

/** The problem with the level in the namespace's label. */
export function levelProblems({ metadata }: Json, problems: Problems): void {
  const level = metadata.labels?.[ENFORCE]
  if (level === undefined || LEVELS.includes(level)) return
  problems.invalid(`metadata.labels[${ENFORCE}]`, level, `must be one of ${LEVELS.join(', ')}`)
}

/** Refuses with 403 a pod that violates its namespace's standard. */
export function checkPodSecurity(store: Store, pod: KubeObject): void {
  const { name, namespace } = pod.metadata
  const labels = store.get(kindNamed('Namespace'), undefined, namespace!)?.metadata.labels ?? {}
  const level = labels[ENFORCE] ?? 'privileged'
  if (level === 'privileged') return
  const version = labels[`${ENFORCE}-version`] ?? 'latest'
  const found = violations(pod.spec, level === 'restricted')
  if (found.length === 0) return
  const why = found.map(([reason, detail]) => (detail ? `${reason} (${detail})` : reason)).join(', ')
  throw forbidden(kindNamed('Pod'), name, `violates PodSecurity "${level}:${version}": ${why}`)
}

type Violation = [reason: string, detail: string]

const quoted = (names: string[]): string => names.map((name) => `"${name}"`).join(', ')
/** `container "a"`, `containers "a", "b"` */
const containers = (list: Json[]): string => `container${list.length > 1 ? 's' : ''} ${quoted(list.map((c) => c.name))}`

/** Default capabilities of container runtimes. A `baseline` pod may add no others. */
const DEFAULT_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]
const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
]
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']

function violations(spec: Json, restricted: boolean): Violation[] {
  const all: Json[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
  const baseline = [
    ...(restricted ? [] : addedCapabilities(all)),
    ...hostNamespaces(spec),
    ...(restricted ? [] : hostPaths(spec)),
    ...hostPorts(all),
    ...those(all, (c) => c.privileged === true, 'privileged', 'must not set securityContext.privileged=true'),
    ...those(
      all,
      (c) => c.procMount !== undefined && c.procMount !== 'Default',
      'procMount',
      'must not set securityContext.procMount to "Unmasked"',
    ),
    ...seLinux(spec, all),
    ...(restricted ? [] : unconfined(spec, all)),
    ...sysctls(spec),
  ]
  if (!restricted) return baseline
  return [
    ...baseline,
    ...those(
      all,
      (c) => c.allowPrivilegeEscalation !== false,
      'allowPrivilegeEscalation != false',
      'must set securityContext.allowPrivilegeEscalation=false',
    ),
    ...capabilities(all),
    ...volumeTypes(spec),
    ...nonRoot(spec, all),
    ...rootUser(spec, all),
    ...seccomp(spec, all),
  ]
}

/** Containers with such a security context. */
function those(all: Json[], is: (context: Json) => boolean, reason: string, rule: string): Violation[] {
  const bad = all.filter((c) => is(c.securityContext ?? {}))
  return bad.length > 0 ? [[reason, `${containers(bad)} ${rule}`]] : []
}

function hostNamespaces(spec: Json): Violation[] {
  const set = ['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => spec[name] === true)
  return set.length > 0 ? [['host namespaces', set.map((name) => `${name}=true`).join(', ')]] : []
}

function hostPaths(spec: Json): Violation[] {
  const names = (spec.volumes ?? []).filter((v: Json) => v.hostPath).map((v: Json) => v.name)
  return names.length > 0 ? [['hostPath volumes', `volume${names.length > 1 ? 's' : ''} ${quoted(names)}`]] : []
}

function hostPorts(all: Json[]): Violation[] {
  const ports = (c: Json): number[] => (c.ports ?? []).map((p: Json) => p.hostPort ?? 0).filter((p: number) => p > 0)
  const bad = all.filter((c) => ports(c).length > 0)
  const used = bad.flatMap(ports)
  if (bad.length === 0) return []
  const words = `${containers(bad)} use${bad.length > 1 ? '' : 's'} hostPort${used.length > 1 ? 's' : ''}`
  return [['hostPort', `${words} ${used.join(', ')}`]]
}

const addedBy = (c: Json): string[] => c.securityContext?.capabilities?.add ?? []

function badlyAdded(all: Json[], allowed: string[]): string | null {
  const bad = all.filter((c) => addedBy(c).some((name) => !allowed.includes(name)))
  if (bad.length === 0) return null
  const names = [...new Set(bad.flatMap(addedBy).filter((name) => !allowed.includes(name)))].sort()
  return `${containers(bad)} must not include ${quoted(names)} in securityContext.capabilities.add`
}

function addedCapabilities(all: Json[]): Violation[] {
  const bad = badlyAdded(all, DEFAULT_CAPABILITIES)
  return bad ? [['non-default capabilities', bad]] : []
}

function capabilities(all: Json[]): Violation[] {
  const kept = all.filter((c) => !(c.securityContext?.capabilities?.drop ?? []).includes('ALL'))
  const rules = [
    ...(kept.length > 0 ? [`${containers(kept)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...[badlyAdded(all, ['NET_BIND_SERVICE'])].filter((text) => text !== null),
  ]
  return rules.length > 0 ? [['unrestricted capabilities', rules.join('; ')]] : []
}

function volumeTypes(spec: Json): Violation[] {
  const typeOf = (volume: Json): string => Object.keys(volume).find((name) => name !== 'name') ?? 'emptyDir'
  const bad = (spec.volumes ?? []).filter((volume: Json) => !VOLUMES.includes(typeOf(volume)))
  if (bad.length === 0) return []
  const types = [...new Set<string>(bad.map(typeOf))].sort()
  const which = `volume${bad.length > 1 ? 's' : ''} ${quoted(bad.map((v: Json) => v.name))}`
  const use = `use${bad.length > 1 ? '' : 's'} restricted volume type${types.length > 1 ? 's' : ''}`
  return [['restricted volume types', `${which} ${use} ${quoted(types)}`]]
}

function nonRoot(spec: Json, all: Json[]): Violation[] {
  const ofPod = spec.securityContext?.runAsNonRoot
  const runAsNonRootOf = (c: Json): unknown => c.securityContext?.runAsNonRoot
  const rules: string[] = []
  const asRoot = all.filter((c) => runAsNonRootOf(c) === false)
  // the pod's value is overridden if each container sets its own
  if (ofPod === false && all.some((c) => runAsNonRootOf(c) === undefined))
    rules.push('pod must not set securityContext.runAsNonRoot=false')
  if (asRoot.length > 0) rules.push(`${containers(asRoot)} must not set securityContext.runAsNonRoot=false`)
  const silent = all.filter((c) => runAsNonRootOf(c) === undefined)
  if (rules.length === 0 && ofPod === undefined && silent.length > 0)
    rules.push(`pod or ${containers(silent)} must set securityContext.runAsNonRoot=true`)
  return rules.length > 0 ? [['runAsNonRoot != true', rules.join('; ')]] : []
}

function rootUser(spec: Json, all: Json[]): Violation[] {
  const bad = all.filter((c) => c.securityContext?.runAsUser === 0)
  const rules = [
    ...(spec.securityContext?.runAsUser === 0 ? ['pod must not set runAsUser=0'] : []),
    ...(bad.length > 0 ? [`${containers(bad)} must not set runAsUser=0`] : []),
  ]
  return rules.length > 0 ? [['runAsUser=0', rules.join('; ')]] : []
}

const CONFINED = ['RuntimeDefault', 'Localhost']
const profileOf = (has: Json): string | undefined => has.securityContext?.seccompProfile?.type

/** Names of pod and containers that set an unconfined profile. */
function unconfinedBy(spec: Json, all: Json[]): string[] {
  const bad = all.filter((c) => profileOf(c) !== undefined && !CONFINED.includes(profileOf(c)!))
  const types = (list: Json[]): string => quoted([...new Set(list.map((has) => profileOf(has)!))].sort())
  const ofPod = profileOf(spec)
  const rule = (subject: string, list: Json[]) =>
    `${subject} must not set securityContext.seccompProfile.type to ${types(list)}`
  return [
    ...(ofPod !== undefined && !CONFINED.includes(ofPod) ? [rule('pod', [spec])] : []),
    ...(bad.length > 0 ? [rule(containers(bad), bad)] : []),
  ]
}

function unconfined(spec: Json, all: Json[]): Violation[] {
  const rules = unconfinedBy(spec, all)
  return rules.length > 0 ? [['seccompProfile', rules.join('; ')]] : []
}

function seccomp(spec: Json, all: Json[]): Violation[] {
  const rules = unconfinedBy(spec, all)
  const silent = all.filter((c) => profileOf(c) === undefined)
  if (rules.length === 0 && profileOf(spec) === undefined && silent.length > 0) {
    const subject = `pod or ${containers(silent)}`
    rules.push(`${subject} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`)
  }
  return rules.length > 0 ? [['seccompProfile', rules.join('; ')]] : []
}

function seLinux(spec: Json, all: Json[]): Violation[] {
  const isBad = (has: Json): boolean => {
    const { type = '', user, role } = has.securityContext?.seLinuxOptions ?? {}
    return !SELINUX_TYPES.includes(type) || Boolean(user) || Boolean(role)
  }
  const bad = all.filter(isBad)
  const subject = [...(isBad(spec) ? ['pod'] : []), ...(bad.length > 0 ? [containers(bad)] : [])]
  return subject.length > 0
    ? [['seLinuxOptions', `${subject.join(' and ')} set forbidden securityContext.seLinuxOptions`]]
    : []
}

function sysctls(spec: Json): Violation[] {
  const names = (spec.securityContext?.sysctls ?? [])
    .map((s: Json) => s.name)
    .filter((n: string) => !SYSCTLS.includes(n))
  return names.length > 0 ? [['forbidden sysctls', names.join(', ')]] : []
}
