/** Tells agents the collector of OpenTelemetry, and who they are there. */

export interface TracedAgent {
  name: string
  deploymentId: string
  workspaceId: string
  revisionId: string
}

/**
 * Environment variables for OpenTelemetry's SDKs in an agent; none without a collector. Secrets of the same name take precedence.
 * The headers of the collector are a secret of the server, so agents don't get them.
 */
export function telemetryVariables(endpoint: string | undefined, agent: TracedAgent): Record<string, string> {
  if (endpoint === undefined) return {}
  const attributes = {
    'pilothouse.deployment.id': agent.deploymentId,
    'pilothouse.revision.id': agent.revisionId,
    'pilothouse.workspace.id': agent.workspaceId,
  }
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_SERVICE_NAME: agent.name,
    OTEL_RESOURCE_ATTRIBUTES: Object.entries(attributes)
      .map((pair) => pair.join('='))
      .join(','),
  }
}
