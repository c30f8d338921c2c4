/** Hosts of agents by their names. They lead to the door, and a custom_url must not have one. */

/** The hosts of APPS_URL, with {name}, in lower case. */
export const agentHostsOf = (appsUrl: string): string => appsUrl.replace(/^https?:\/\/|:\d+$/g, '').toLowerCase()

/** Whether the host is, or may become, that of a name. `hosts`: of `agentHostsOf`. */
export function isAgentHost(host: string, hosts: string): boolean {
  const [before = '', after = ''] = hosts.split('{name}')
  if (!host.startsWith(before) || !host.endsWith(after)) return false
  return /^[a-z0-9-]+$/.test(host.slice(before.length, host.length - after.length))
}
