{{- define "pairofcleats.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pairofcleats.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pairofcleats.labels" -}}
{{ include "pairofcleats.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "pairofcleats.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The names under which the server answers: a request for any other host is refused. */}}
{{- define "pairofcleats.hosts" -}}
{{- $name := include "pairofcleats.name" . -}}
{{- $service := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := concat (list $name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service)) .Values.hosts -}}
{{- if .Values.ingress.enabled -}}
{{- $hosts = append $hosts .Values.ingress.host -}}
{{- end -}}
{{- toJson (uniq $hosts) -}}
{{- end -}}

{{/* The containers of the pod differ only in what they run: same image, settings, privileges and volumes. */}}
{{- define "pairofcleats.container" -}}
image: {{ include "pairofcleats.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
env:
  - name: DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ required "database.existingSecret names the Secret with the address of the database" .Values.database.existingSecret | quote }}
        key: {{ .Values.database.key | quote }}
  - name: PAIROFCLEATS_ACCESS__REQUIRED
    value: always
  - name: PAIROFCLEATS_INDEXING__ROOTS
    value: '["/repositories"]'
  - name: PAIROFCLEATS_SERVER__HOSTS
    value: {{ include "pairofcleats.hosts" . | quote }}
  - name: PAIROFCLEATS_SERVER__BEHIND_PROXY
    value: {{ .Values.ingress.enabled | quote }}
  - name: PAIROFCLEATS_SERVER__TRUSTED_PROXIES
    value: {{ toJson .Values.trustedProxies | quote }}
  - name: PAIROFCLEATS_FRESHNESS__WATCH
    value: indexed
  - name: PAIROFCLEATS_FRESHNESS__EVERY_MS
    value: "3600000"
  - name: PAIROFCLEATS_LOG__FORMAT
    value: json
  {{- range $name, $value := .Values.environment }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - name: projects
    mountPath: /var/lib/pairofcleats/projects
  - name: tmp
    mountPath: /tmp
  {{- if .Values.repositories.volume }}
  - name: repositories
    mountPath: /repositories
    readOnly: true
  {{- end }}
{{- end -}}
