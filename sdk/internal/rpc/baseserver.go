package rpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Describe implements pluginpb.PluginBaseServer.
func (s *Server) Describe(context.Context, *pluginpb.DescribeRequest) (*pluginpb.DescribeResponse, error) {
	a := &pluginpb.DescribeResponse{ApiMinor: APIMinor, Sdk: s.sdk}
	for _, p := range s.plugins {
		a.Plugins = append(a.Plugins, &pluginpb.PluginInfo{
			Kind: string(p.Kind), Name: p.Name, Version: p.Version, Summary: p.Summary,
			Features: p.Features, Schema: p.Schema,
		})
	}
	return a, nil
}

// Validate implements pluginpb.PluginBaseServer.
func (s *Server) Validate(ctx context.Context, q *pluginpb.ValidateRequest) (*pluginpb.ValidateResponse, error) {
	p, err := s.find(q.GetKind(), q.GetName(), q.GetConfig())
	if err == nil {
		err = p.Try(ctx, q.GetConfig())
	}
	if err != nil {
		return nil, statusOf(err)
	}
	return &pluginpb.ValidateResponse{}, nil
}

// Configure implements pluginpb.PluginBaseServer.
func (s *Server) Configure(ctx context.Context, q *pluginpb.ConfigureRequest) (*pluginpb.ConfigureResponse, error) {
	p, err := s.find(q.GetKind(), q.GetName(), q.GetConfig())
	if err != nil {
		return nil, statusOf(err)
	}
	id := q.GetMeta().GetInstanceId()
	s.mu.Lock()
	err = s.mayAdd(id)
	s.mu.Unlock()
	if err != nil {
		return nil, statusOf(err)
	}
	made, err := p.Make(ctx, plugin.Config{
		JSON: q.GetConfig(), Instance: q.GetInstance(), ClusterID: q.GetClusterId(), BrokerID: q.GetBrokerId(),
		Log: slog.Default().With("instance", q.GetInstance()),
	})
	if err != nil {
		return nil, statusOf(err)
	}
	if err = fits(p, made); err == nil {
		err = ctx.Err() // else nobody would ever drain it
	}
	if err == nil {
		err = s.add(id, p, made)
	}
	if err != nil {
		if c, ok := made.(io.Closer); ok {
			_ = c.Close() // nobody ever asks it; err says why
		}
		return nil, statusOf(err)
	}
	return &pluginpb.ConfigureResponse{}, nil
}

// find is the plugin that a question about a config names.
func (s *Server) find(kind, name string, config []byte) (plugin.Plugin, error) {
	if err := checkConfig(config); err != nil {
		return plugin.Plugin{}, err
	}
	return plugin.Find(s.plugins, plugin.Kind(kind), name)
}

// Drain implements pluginpb.PluginBaseServer.
func (s *Server) Drain(ctx context.Context, q *pluginpb.DrainRequest) (*pluginpb.DrainResponse, error) {
	if err := s.drain(ctx, q.GetMeta().GetInstanceId()); err != nil {
		return nil, statusOf(fmt.Errorf("drain: %w", err))
	}
	return &pluginpb.DrainResponse{}, nil
}

// Metrics implements pluginpb.PluginBaseServer.
func (s *Server) Metrics(ctx context.Context, q *pluginpb.MetricsRequest) (*pluginpb.MetricsResponse, error) {
	a := &pluginpb.MetricsResponse{}
	err := with(s, q.GetMeta(), func(instance any) (err error) {
		a.Text, err = plugin.MetricsOf(ctx, instance)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}
