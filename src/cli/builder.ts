/** `builder`: builds images for a control plane on a separate machine. */
import { startBuilder } from '../builder/start-builder.ts'
import { readBuilderSettings } from '../platform/config/builder-settings.ts'
import { worker } from './worker.ts'

export const builder = worker('builder', 'BUILDER_', readBuilderSettings, (settings, telemetry) =>
  startBuilder(settings, process.env, telemetry),
)
