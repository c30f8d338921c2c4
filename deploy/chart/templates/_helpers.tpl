{{/* At most 41 characters, so that no name with a suffix has more than 63. */}}
{{- define "pilothouse.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- .Values.fullnameOverride | default $name | trunc 41 | trimSuffix "-" -}}
{{- end }}

{{/* The end of the listener's id keeps the objects of several listeners apart. */}}
{{- define "pilothouse.listenerName" -}}
{{ include "pilothouse.fullname" . }}-listener-{{ .Values.listener.listenerId | trunc -12 }}
{{- end }}

{{- define "pilothouse.builderName" -}}
{{ include "pilothouse.fullname" . }}-builder
{{- end }}

{{- define "pilothouse.serverSelector" -}}
app.kubernetes.io/name: pilothouse
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* A selector can't be changed: it is that of the manifests of earlier versions. */}}
{{- define "pilothouse.listenerSelector" -}}
app.kubernetes.io/instance: {{ include "pilothouse.listenerName" . | quote }}
{{- end }}

{{/* Not `managed-by: pilothouse`: the listener selects its deployments' objects by that label. */}}
{{- define "pilothouse.listenerLabels" -}}
app.kubernetes.io/name: pilothouse-listener
{{ include "pilothouse.listenerSelector" . }}
pilothouse.dev/listener-id: {{ .Values.listener.listenerId | quote }}
{{- end }}

{{- define "pilothouse.builderSelector" -}}
app.kubernetes.io/name: pilothouse-builder
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "pilothouse.doorName" -}}
{{ include "pilothouse.fullname" . }}-door
{{- end }}

{{/* NetworkPolicies of agents select the door by its name (dataplane/kubernetes/render/network.ts). */}}
{{- define "pilothouse.doorSelector" -}}
app.kubernetes.io/name: pilothouse-door
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "pilothouse.doorSecret" -}}
{{ required "door.existingSecret is missing: a Secret with DOOR_TOKEN" (or .Values.door.existingSecret .Values.server.existingSecret) }}
{{- end }}

{{- define "pilothouse.appsUrl" -}}
http{{ if .Values.door.https }}s{{ end }}://{name}.{{ .Values.door.domain }}
{{- end }}

{{/* Settings with which a server or a listener gives deployments addresses at the door. */}}
{{- define "pilothouse.doorSettings" -}}
- name: APPS_URL
  value: {{ include "pilothouse.appsUrl" . | quote }}
- name: DOOR_NAMESPACE
  value: {{ .Release.Namespace | quote }}
{{- if .Values.door.customUrls }}
- name: DOOR_SERVICE
  value: "{{ include "pilothouse.doorName" . }}.{{ .Release.Namespace }}.svc.{{ .Values.door.settings.CLUSTER_DOMAIN | default "cluster.local" }}:{{ .Values.door.service.port }}"
{{- end }}
{{- end }}

{{- define "pilothouse.testSelector" -}}
app.kubernetes.io/name: pilothouse-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Argument: a dict of `root` and `image`, the component's own reference. */}}
{{- define "pilothouse.image" -}}
{{- $image := .root.Values.image -}}
{{- if .image -}}
{{ .image }}
{{- else if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "pilothouse.internalUrl" -}}
http://{{ include "pilothouse.fullname" . }}.{{ .Release.Namespace }}:{{ .Values.server.service.port }}
{{- end }}

{{- define "pilothouse.publicUrl" -}}
{{- if .Values.server.publicUrl -}}
{{ .Values.server.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
http{{ if .Values.ingress.tls }}s{{ end }}://{{ index .Values.ingress.hosts 0 }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ index .Values.httpRoute.hostnames 0 }}
{{- else -}}
{{ include "pilothouse.internalUrl" . }}
{{- end -}}
{{- end }}

{{/* Argument: a dict of `root`, `url` and the `name` of the value. */}}
{{- define "pilothouse.controlPlaneUrl" -}}
{{- if or .url (not .root.Values.server.enabled) -}}
{{ required (printf "%s is missing: the address of the control plane" .name) .url }}
{{- else -}}
{{ include "pilothouse.internalUrl" .root }}
{{- end -}}
{{- end }}

{{/* An environment variable from a Secret, which must have it. Argument: a dict of `name` and `secret`. */}}
{{- define "pilothouse.secretSetting" -}}
- name: {{ .name | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret | quote }}
      key: {{ .name | quote }}
{{- end }}

{{/* Fields of a pod before its containers. Argument: a dict of `root`, `values` (the component's) and `selector`. */}}
{{- define "pilothouse.pod" -}}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.spreadOver }}
topologySpreadConstraints:
  {{- $selector := .selector }}
  {{- range .values.spreadOver }}
  - maxSkew: 1
    topologyKey: {{ . | quote }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Fields of a container. Argument: a dict of `root`, `values` (the component's) and `port` (the name of its port). */}}
{{- define "pilothouse.container" -}}
image: {{ include "pilothouse.image" (dict "root" .root "image" .values.image) | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
# liveness doesn't depend on the database or the control plane: a restart would not bring them back
livenessProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 5
resources:
  {{- toYaml .values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Not empty: deployments have HTTPRoutes, or had them. An empty GATEWAY keeps the rights, so that routes are removed. */}}
{{- define "pilothouse.gateway" -}}
{{- if or (hasKey .Values.listener.settings "GATEWAY") (hasKey .Values.server.settings "GATEWAY") }}on{{ end -}}
{{- end }}

{{/* Not empty: queues may be scaled by their backlog, or were. An empty KEDA_NAMESPACE keeps the rights. */}}
{{- define "pilothouse.keda" -}}
{{- if or (hasKey .Values.listener.settings "KEDA_NAMESPACE") (hasKey .Values.server.settings "KEDA_NAMESPACE") }}on{{ end -}}
{{- end }}

{{/* Rules of a Role with which a listener, or a server, runs deployments in a namespace. */}}
{{- define "pilothouse.runtimeRules" -}}
# server-side apply needs `create` for an absent object and `patch` for an existing one
- apiGroups: ['']
  resources: [secrets, services, persistentvolumeclaims]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
{{- if include "pilothouse.gateway" . }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if include "pilothouse.keda" . }}
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: ['']
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
# CPU and memory of agents, where the cluster has a metrics server
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [list]
- apiGroups: ['']
  resources: [pods/log]
  verbs: [get]
- apiGroups: ['']
  resources: [events]
  verbs: [list]
{{- end }}
